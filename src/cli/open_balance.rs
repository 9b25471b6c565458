//! `open-balance`: R8 by hand.

use clap::Args;

use super::failure::Failure;
use super::inbox::writer;
use super::options::{Common, Settings, user};
use super::output;
use super::serve::runtime;
use super::status::failed;
use super::stripe::{environment, owners, required_client};
use crate::daemon::reconcile::openings;
use crate::domain::guard::Account;
use crate::domain::money::Currency;
use crate::domain::owner::Owner;
use crate::store::act::Actor;
use crate::store::side::Side;
use crate::store::writer::Writer;

/// Options of `open-balance`.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// `platform` or acct_…
    #[arg(required_unless_present = "from_stripe")]
    account: Option<String>,
    /// A currency code
    #[arg(required_unless_present = "from_stripe")]
    currency: Option<String>,
    /// Minor units (cents): available and pending together, before the first event; negative when the account owed
    #[arg(allow_hyphen_values = true, required_unless_present = "from_stripe")]
    amount: Option<i64>,
    /// Ask Stripe for every account seen here (or the one named): what it has and the events do not explain
    #[arg(long, conflicts_with_all = ["currency", "amount"])]
    from_stripe: bool,
    /// Why, for the audit
    #[arg(long, default_value = "")]
    reason: String,
}

/// Opens a balance once.
pub fn run(args: &OpenArgs, common: &Common) -> Result<(), Failure> {
    let settings = common.settings()?;
    match (&args.account, &args.currency, args.amount) {
        (Some(account), Some(currency), Some(amount)) => by_hand(account, currency, amount, &args.reason, &settings),
        (account, ..) => from_stripe(account.as_ref(), &args.reason, &settings),
    }
}

fn by_hand(account: &str, currency: &str, amount: i64, reason: &str, settings: &Settings) -> Result<(), Failure> {
    let owner = Owner::parse(account).map_err(Failure::Usage)?;
    let currency = Currency::parse(&currency.to_ascii_lowercase()).map_err(Failure::Usage)?;
    if amount == 0 || amount == i64::MIN {
        return Err(Failure::Usage("the amount must be a number of minor units other than zero".to_owned()));
    }
    open(&mut writer(settings)?, &(owner, currency), amount, reason)
}

fn open(writer: &mut Writer, account: &Account, amount: i64, reason: &str) -> Result<(), Failure> {
    let actor = Actor { who: &user(), reason, now_ms: crate::daemon::now_ms() };
    match writer.open_balance(account, amount, &actor).map_err(failed)? {
        Ok(effect) => output::line(&effect),
        Err(why) => Err(Failure::Found(why)),
    }
}

/// R8 with an API key. Nothing is opened before every account was asked.
fn from_stripe(account: Option<&String>, reason: &str, settings: &Settings) -> Result<(), Failure> {
    let client = required_client(settings)?;
    let mut writer = writer(settings)?;
    let side = Side::open(&settings.database, settings.live).map_err(failed)?;
    let runtime = runtime()?;
    let mut found = Vec::new();
    for owner in owners(&side, account.map_or(&[], std::slice::from_ref))? {
        found.extend(runtime.block_on(openings(&client, &side, &owner)).map_err(|e| environment(&e))?);
    }
    if found.is_empty() {
        return output::line("nothing to open: every balance is opened or equal");
    }
    let reason = if reason.is_empty() { "from Stripe's balance" } else { reason };
    found.iter().try_for_each(|(account, amount)| open(&mut writer, account, *amount, reason))
}
