//! The scenarios' known right answers.

use std::collections::BTreeMap;

use super::*;
use crate::domain::engine::Rules;
use crate::domain::strategy::{self, Strategy};
use crate::lab::case::brief;
use crate::lab::compare::{Outcome, judge};
use crate::lab::orders::{self, Wanted};

fn case(name: &str) -> Case {
    built_in(name).unwrap().unwrap()
}

fn strategies(rules: Rules) -> Vec<Box<dyn Strategy + Send + Sync>> {
    strategy::all(rules).into_iter().chain(strategy::variants()).collect()
}

/// Every strategy's outcome on an order, by name.
fn outcomes(case: &Case, order: &[usize]) -> BTreeMap<&'static str, Outcome> {
    let deliveries = case.arranged(order);
    strategies(Rules::default()).iter().map(|s| (s.name(), judge(case, &deliveries, s.as_ref()))).collect()
}

fn as_delivered(case: &Case) -> BTreeMap<&'static str, Outcome> {
    outcomes(case, &(0..case.deliveries.len()).collect::<Vec<_>>())
}

fn end(outcome: &Outcome, object: &str) -> String {
    brief(outcome.end[object].as_deref())
}

fn right(outcomes: &BTreeMap<&'static str, Outcome>) -> Vec<&'static str> {
    outcomes.values().filter(|o| o.matches).map(|o| o.name).collect()
}

#[test]
fn every_scenario_is_readable_and_holds_its_truth() {
    for name in names() {
        let case = case(name);
        assert!(!case.title.is_empty() && !case.teaches.is_empty() && case.left_out == 0, "{name}");
        assert!(case.deliveries.len() <= orders::ALL_UP_TO, "{name}");
    }
}

#[test]
fn subscription() {
    let case = case("subscription");
    let truth = case.truth();
    assert_eq!(brief(truth["sub_1"].as_deref()), "active/pro/v3");
    assert_eq!(brief(truth["sub_2"].as_deref()), "canceled/basic/v2");
    let outcomes = as_delivered(&case);
    let of = |name: &str| &outcomes[name];
    assert_eq!(end(of("arrival_order"), "sub_1"), "active/basic/v2");
    assert!(!of("arrival_order").matches && of("arrival_order").api_calls == 0);
    assert_eq!(of("arrival_order").wrong_steps, 5);
    assert!(of("fetch_on_receipt").matches && of("fetch_on_receipt").api_calls == 6);
    assert!(of("version_compare").matches && of("version_compare").api_calls == 0);
    assert_eq!(of("version_compare").skipped, ["evt_001", "evt_002", "evt_002"]);
    assert_eq!(end(of("fifo_queue"), "sub_1"), "active/basic/v2");
    assert!(!of("fifo_queue").matches);
    assert!(of("fifo_queue_version_compare").matches);
    let trace: Vec<_> = of("fifo_queue")
        .run
        .trace
        .iter()
        .map(|round| [round.a, round.b].map(|i| i.map(|i| case.deliveries[i].event.id.as_str())))
        .collect();
    assert_eq!(
        trace,
        [
            [Some("evt_003"), Some("evt_004")],
            [Some("evt_001"), Some("evt_005")],
            [Some("evt_002"), None],
            [Some("evt_002"), None],
        ]
    );
    assert!(of("state_machine").matches && of("state_machine").wrong_steps == 0);
}

#[test]
fn same_second() {
    let case = case("same_second");
    let (in_order, reversed) = (outcomes(&case, &[0, 1]), outcomes(&case, &[1, 0]));
    for (name, in_order_right, reversed_right) in [
        ("created_compare_skip_ties", false, true),
        ("created_compare_apply_ties", true, false),
        ("version_compare", true, true),
        ("state_machine", true, true),
    ] {
        assert_eq!((in_order[name].matches, reversed[name].matches), (in_order_right, reversed_right), "{name}");
    }
}

#[test]
fn late_retry() {
    let outcomes = as_delivered(&case("late_retry"));
    assert_eq!(end(&outcomes["arrival_order"], "sub_late"), "active/v2");
    assert!(!outcomes["arrival_order"].matches);
    assert!(outcomes["version_compare"].matches);
    assert_eq!(outcomes["version_compare"].skipped, ["evt_r2"]);
    let raced = &outcomes["fetch_on_receipt_two_workers"];
    assert!(raced.matches && raced.wrong_seconds > 250_000, "the older read stays until the retry reads again");
}

#[test]
fn bounced_payout() {
    let outcomes = as_delivered(&case("bounced_payout"));
    assert!(end(&outcomes["arrival_order"], "po_bounce").starts_with("paid"));
    let fetching = ["fetch_on_receipt", "fetch_on_receipt_two_workers"];
    assert_eq!(right(&outcomes), ["created_compare_skip_ties", fetching[0], fetching[1], "state_machine"]);
    assert!(outcomes["version_compare"].run.note.is_some(), "Stripe has no version");
}

#[test]
fn competing_payouts_are_both_shown_and_one_waits() {
    let case = case("competing_payouts");
    for order in orders::permutations(3) {
        let ours = &outcomes(&case, &order)["state_machine"];
        assert!(ours.matches, "{order:?}");
        assert_eq!(ours.waiting.len(), 1, "{order:?}");
        assert!(!ours.run.owed, "no balance is below zero");
    }
}

#[test]
fn fact_not_state() {
    let outcomes = as_delivered(&case("fact_not_state"));
    assert_eq!(right(&outcomes), ["state_machine"]);
    assert_eq!(end(&outcomes["fetch_on_receipt"], "order_1"), "total 1200");
    assert_eq!(end(&outcomes["created_compare_skip_ties"], "order_1"), "total 500");
    assert_eq!(outcomes["arrival_order"].never_existed, ["order_1 total 1200"]);
}

#[test]
fn ours_is_right_in_every_order_of_every_scenario() {
    for name in names() {
        let case = case(name);
        let all = orders::orders(&case, Wanted::All(0, 0));
        let ours: Vec<_> =
            strategy::all(Rules::default()).into_iter().filter(|s| s.name() == "state_machine").collect();
        let tally = &orders::tally(&case, &all, &ours)[0];
        assert_eq!(tally.count(|m| m.right), all.len(), "{name}: {:?}", tally.counterexample);
        assert_eq!(tally.count(|m| m.went_back), 0, "{name}");
        let waiting = if name == "competing_payouts" { all.len() } else { 0 };
        assert_eq!(tally.count(|m| m.waits), waiting, "{name}");
        assert_eq!(tally.count(|m| m.late), 0, "{name}: nothing has to wait for its attempts to run out");
    }
}

#[test]
fn each_of_our_rules_is_needed_by_a_scenario() {
    let on = Rules::default();
    for (rule, rules) in [
        ("snapshot_legs", Rules { snapshot_legs: false, ..on }),
        ("credit_wakeup", Rules { credit_wakeup: false, ..on }),
        ("joint_try", Rules { joint_try: false, ..on }),
        ("greatest_details", Rules { greatest_details: false, ..on }),
    ] {
        let ours: Vec<_> = strategy::all(rules).into_iter().filter(|s| s.name() == "state_machine").collect();
        let missed: Vec<_> = names()
            .filter(|name| {
                let case = case(name);
                let tally = &orders::tally(&case, &orders::orders(&case, Wanted::All(0, 0)), &ours)[0];
                tally.count(|m| !m.right || m.late) > 0
            })
            .collect();
        println!("{rule} {missed:?}");
        assert!(!missed.is_empty(), "{rule} makes no difference");
    }
}

#[test]
fn a_fault_in_a_file_is_one_line_that_names_the_place() {
    let event = "[[event]]\nid = \"e\"\nobject = \"o\"\ncreated = 0\n";
    let head = "title = \"t\"\nteaches = \"t\"\n";
    for (text, want) in [
        (format!("{head}colour = 1\n"), "line 3: unknown field `colour`"),
        (format!("{head}[[event]]\nid = 3\n"), "line 4: invalid type"),
        (format!("{head}{event}[[delivery]]\nevent = \"e\"\nat = 0\n"), "give exactly one of status"),
        (format!("{head}{event}adds = 1\n[[delivery]]\nevent = \"f\"\nat = 0\n"), "names the event f"),
        (
            format!("{head}{event}adds = 1\n{event}adds = 1\n[[delivery]]\nevent = \"e\"\nat = 0\n"),
            "stands there twice",
        ),
        (format!("{head}{event}type = \"payout.paid\"\n[[delivery]]\nevent = \"e\"\nat = 0\n"), "needs an amount"),
    ] {
        let error = read("mine", &text).unwrap_err();
        assert!(error.contains(want) && error.starts_with("scenario mine: ") && error.lines().count() == 1, "{error}");
    }
}
