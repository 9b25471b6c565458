//! The monitor itself: the daemon, and the screen over it.

use clap::Args;
use tokio::sync::watch;

use super::failure::Failure;
use super::options::{Common, Settings, existing, user};
use super::status::failed;
use super::stripe::StripeArgs;
use super::{serve, transfer};
use crate::daemon::start::Daemon;
use crate::daemon::stripe_side::{Command, Status, StripeSide};
use crate::store::read::Reader;
use crate::tui::app::App;
use crate::tui::data::{Data, Link};
use crate::tui::run::{self, Around};
use crate::tui::theme::{NAMES, Theme};

/// Options of the monitor.
#[derive(Debug, Default, Args)]
pub struct MonitorArgs {
    /// Look at a database that another process fills; what a person does still works
    #[arg(long)]
    attach: bool,
    /// With --attach: look only
    #[arg(long, requires = "attach")]
    read_only: bool,
    /// The colours [default: terminal]
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(NAMES))]
    theme: Option<String>,
    /// Show new alerts as desktop notices too, in terminals that know OSC 9
    #[arg(long)]
    notify: bool,
    #[command(flatten)]
    stripe: StripeArgs,
    #[command(flatten)]
    transfers: transfer::BesideArgs,
    #[command(flatten)]
    forward: super::forward::ForwardArgs,
}

/// What runs around the screen.
struct Surroundings<'a> {
    daemon: Option<&'a Daemon>,
    side: Option<&'a StripeSide>,
    notify: bool,
}

impl Around for Surroundings<'_> {
    fn is_broken(&self) -> bool {
        self.daemon.is_some_and(Daemon::is_broken)
    }

    fn stripe(&self) -> Option<Status> {
        self.side.map(StripeSide::status)
    }

    fn notifies(&self) -> bool {
        self.notify
    }

    fn order(&self, command: Command) -> Result<&'static str, String> {
        let Some(side) = self.side else { return Err("another process receives here: ask there".to_owned()) };
        if side.status().key.is_none() && command != Command::ToggleListen {
            return Err("this needs an API key: start with STRIPE_API_KEY set, or --api-key-file".to_owned());
        }
        side.ask(command);
        Ok(match command {
            Command::Backfill => "fetching what was missed",
            Command::Reconcile { repair: false } => "comparing with Stripe's record",
            Command::Reconcile { repair: true } => "comparing, and mending what can be",
            Command::OpenBalances => "asking Stripe for the balances",
            Command::ToggleListen => "stripe listen: asked",
        })
    }
}

/// Runs the screen until the person quits.
pub fn run(args: &MonitorArgs, common: &Common) -> Result<(), Failure> {
    let settings = common.settings()?;
    let theme = theme(&settings, args.theme.as_deref())?;
    if args.attach {
        existing(&settings.database)?;
        let data = data(&settings, Link::default(), args.read_only)?;
        return show(App::new(data, theme), None, &Surroundings { daemon: None, side: None, notify: args.notify });
    }
    let (chaos, tap) = args.forward.start(&settings)?;
    let mut daemon = serve::start(&settings, common.allow_unsigned, tap)?;
    let mut side = args.stripe.start(&settings, &daemon)?;
    let transfers = args.transfers.start(&settings)?;
    let link = link(&daemon, common.allow_unsigned);
    let app = App::new(data(&settings, link, false)?, theme);
    let shown = show(
        app,
        Some(daemon.pipeline.changes.subscribe()),
        &Surroundings { daemon: Some(&daemon), side: Some(&side), notify: args.notify },
    );
    drop(transfers);
    side.stop();
    daemon.stop();
    drop(chaos);
    shown
}

/// The same on a demo's settings; `play` runs beside it with the endpoint.
pub fn demo(settings: &Settings, play: impl FnOnce(String) + Send + 'static) -> Result<(), Failure> {
    let theme = theme(settings, None)?;
    let mut daemon = serve::start(settings, false, None)?;
    let app = App::new(data(settings, link(&daemon, false), false)?, theme);
    let endpoint = daemon.endpoint();
    let player = std::thread::Builder::new().name("demo".to_owned()).spawn(move || play(endpoint));
    player.map_err(|e| Failure::Environment(format!("cannot start a thread: {e}")))?;
    let changes = daemon.pipeline.changes.subscribe();
    let shown = show(app, Some(changes), &Surroundings { daemon: Some(&daemon), side: None, notify: false });
    daemon.stop();
    shown
}

fn theme(settings: &Settings, named: Option<&str>) -> Result<Theme, Failure> {
    let name = if settings.color { named.or(settings.theme.as_deref()).unwrap_or("terminal") } else { "mono" };
    Theme::named(name).map_err(Failure::Usage)
}

fn link(daemon: &Daemon, unsigned: bool) -> Link {
    Link {
        endpoint: Some(daemon.endpoint()),
        secrets: daemon.secrets.clone(),
        unsigned,
        rejections: daemon.rejections.clone(),
        health: daemon.pipeline.health.clone(),
        broken: false,
        stripe: None,
    }
}

fn data(settings: &Settings, link: Link, read_only: bool) -> Result<Data, Failure> {
    Ok(Data {
        reader: Reader::open(&settings.database, settings.live).map_err(failed)?,
        link,
        database: settings.database.clone(),
        profile: settings.profile,
        who: user(),
        read_only,
    })
}

fn show(mut app: App, changes: Option<watch::Receiver<u64>>, around: &dyn Around) -> Result<(), Failure> {
    serve::runtime()?.block_on(run::run(&mut app, changes, around)).map_err(Failure::Environment)
}
