//! The monitor itself: the daemon and the screen over it.

use clap::Args;

use super::failure::Failure;
use super::options::Common;

/// Options of the monitor.
#[derive(Debug, Default, Args)]
pub struct MonitorArgs {
    /// Only look at a database that another process fills; people's deeds still work
    #[arg(long)]
    attach: bool,
}

/// Runs the screen until the person quits.
pub fn run(args: &MonitorArgs, common: &Common) -> Result<(), Failure> {
    let _ = (args, common);
    Err(Failure::Environment("the screen is not wired yet: use `serve` and `status`".to_owned()))
}

/// The same on a demo's settings; `play` runs beside it with the endpoint.
pub fn demo(settings: &super::options::Settings, play: impl FnOnce(String) + Send + 'static) -> Result<(), Failure> {
    let _ = (settings, play);
    Err(Failure::Environment("the screen is not wired yet: use --headless".to_owned()))
}
