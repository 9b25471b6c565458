//! `open-balance`: R8 by hand.

use clap::Args;

use super::failure::Failure;
use super::inbox::writer;
use super::options::{Common, user};
use super::output;
use super::status::failed;
use crate::domain::money::Currency;
use crate::domain::owner::Owner;
use crate::store::act::Actor;

/// Options of `open-balance`.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// `platform` or acct_…
    account: String,
    /// A currency code
    currency: String,
    /// Minor units (cents): available and pending together, before the first event; negative when the account owed
    #[arg(allow_hyphen_values = true)]
    amount: i64,
    /// Why, for the audit
    #[arg(long, default_value = "")]
    reason: String,
}

/// Opens a balance once.
pub fn run(args: &OpenArgs, common: &Common) -> Result<(), Failure> {
    let owner = Owner::parse(&args.account).map_err(Failure::Usage)?;
    let currency = Currency::parse(&args.currency.to_ascii_lowercase()).map_err(Failure::Usage)?;
    if args.amount == 0 || args.amount == i64::MIN {
        return Err(Failure::Usage("the amount must be a number of minor units other than zero".to_owned()));
    }
    let mut writer = writer(&common.settings()?)?;
    let actor = Actor { who: &user(), reason: &args.reason, now_ms: crate::daemon::now_ms() };
    match writer.open_balance(&(owner, currency), args.amount, &actor).map_err(failed)? {
        Ok(effect) => output::line(&effect),
        Err(why) => Err(Failure::Found(why)),
    }
}
