//! Scenarios: cases as data files, read strictly. The ones that come with the program, and the user's own.

mod file;

use super::case::Case;

/// The scenarios that come with the program, in the order in which they teach.
const BUILT_IN: [(&str, &str); 9] = [
    ("subscription", include_str!("../../../assets/scenarios/subscription.toml")),
    ("same_second", include_str!("../../../assets/scenarios/same_second.toml")),
    ("late_retry", include_str!("../../../assets/scenarios/late_retry.toml")),
    ("bounced_payout", include_str!("../../../assets/scenarios/bounced_payout.toml")),
    ("early_payout", include_str!("../../../assets/scenarios/early_payout.toml")),
    ("twin_events", include_str!("../../../assets/scenarios/twin_events.toml")),
    ("transfer_deadlock", include_str!("../../../assets/scenarios/transfer_deadlock.toml")),
    ("competing_payouts", include_str!("../../../assets/scenarios/competing_payouts.toml")),
    ("fact_not_state", include_str!("../../../assets/scenarios/fact_not_state.toml")),
];

/// Names of the scenarios that come with the program.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// A scenario of the program; none when there is none of that name.
pub fn built_in(name: &str) -> Option<Result<Case, String>> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(name, text)| read(name, text))
}

/// Reads a scenario file's text. An error is one line that names the place and what to do.
pub fn read(name: &str, text: &str) -> Result<Case, String> {
    file::parse(text).and_then(|scenario| scenario.into_case(name)).map_err(|why| format!("scenario {name}: {why}"))
}

#[cfg(test)]
mod tests;
