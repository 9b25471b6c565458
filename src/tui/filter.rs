//! What a person types behind `/`: words, and `field:value` pairs.

use crate::store::view::Filter;

/// Reads a filter: `state:stuck account:acct_1 type:payout.* currency:eur object:po_1 word`. Several states mean any of
/// them; words are searched together.
pub fn parse(text: &str) -> Filter {
    let mut filter = Filter::default();
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        match word.split_once(':') {
            Some(("state" | "status", value)) => filter.states.extend(value.split(',').map(str::to_owned)),
            Some(("account", value)) => filter.account = Some(value.to_owned()),
            Some(("currency", value)) => filter.currency = Some(value.to_ascii_lowercase()),
            Some(("type", value)) => filter.kind = Some(value.to_owned()),
            Some(("object", value)) => filter.object = Some(value.to_owned()),
            _ => words.push(word),
        }
    }
    if !words.is_empty() {
        filter.text = Some(words.join(" "));
    }
    filter
}

/// The filter with another state, for cycling through them; no state shows all.
pub fn with_state(text: &str, state: Option<&str>) -> String {
    let mut words: Vec<String> = text
        .split_whitespace()
        .filter(|w| !w.starts_with("state:") && !w.starts_with("status:"))
        .map(str::to_owned)
        .collect();
    if let Some(state) = state {
        words.insert(0, format!("state:{state}"));
    }
    words.join(" ")
}

/// The state after the one that the filter has, through `states` and back to all.
pub fn next_state(text: &str, states: &[&str]) -> String {
    let now = parse(text).states;
    let next = match now.first().and_then(|state| states.iter().position(|s| s == state)) {
        None => states.first(),
        Some(at) => states.get(at + 1),
    };
    with_state(text, next.copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_words() {
        let filter = parse("state:stuck,waiting type:payout.* currency:EUR rent  march");
        assert_eq!(filter.states, ["stuck", "waiting"]);
        assert_eq!(filter.kind.as_deref(), Some("payout.*"));
        assert_eq!(filter.currency.as_deref(), Some("eur"));
        assert_eq!(filter.text.as_deref(), Some("rent march"));
        let states = ["pending", "paid"];
        assert_eq!(next_state("rent", &states), "state:pending rent");
        assert_eq!(next_state("state:pending rent", &states), "state:paid rent");
        assert_eq!(next_state("state:paid", &states), "");
    }
}
