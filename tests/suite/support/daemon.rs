//! A daemon for tests: any free port, a known secret, fast sweeps.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use payout_ledger::daemon::pipeline;
use payout_ledger::daemon::secrets::Secrets;
use payout_ledger::daemon::start::Options;
use payout_ledger::domain::retry::Profile;
use secrecy::SecretString;

/// What its deliveries are signed with.
pub const SECRET: &str = "whsec_daemon_tests";

/// Options with the database in `dir`.
pub fn options(dir: &Path) -> Options {
    let secrets = Secrets::default();
    secrets.add(&SecretString::from(SECRET.to_owned())).unwrap();
    Options {
        addr: SocketAddr::from(([127, 0, 0, 1], 0)),
        pipeline: pipeline::Options {
            database: dir.join("ledger.db"),
            live: false,
            profile: Profile::default(),
            sweep_every: Duration::from_millis(50),
        },
        secrets,
        allow_unsigned: false,
        tap: None,
    }
}
