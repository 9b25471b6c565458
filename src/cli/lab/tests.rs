//! The `lab` command's output.

use clap::Parser;
use serde_json::{Value, json};

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    lab: LabArgs,
}

fn lab(line: &str) -> (String, Result<(), Failure>) {
    let words = std::iter::once("lab").chain(line.split_whitespace());
    let args = Line::try_parse_from(words).unwrap_or_else(|e| panic!("{e}"));
    let mut out = Vec::new();
    let result = run(&args.lab, &mut out);
    (String::from_utf8(out).unwrap(), result)
}

#[test]
fn the_json_of_the_contract() {
    let (text, result) = lab("subscription --json");
    assert!(result.is_ok() && text.lines().count() == 1);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["scenario"], "subscription");
    assert_eq!(report["truth"]["sub_1"], json!({ "status": "active", "plan": "pro", "version": 3 }));
    let names: Vec<&str> =
        report["strategies"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "arrival_order",
            "fetch_on_receipt",
            "version_compare",
            "created_compare_skip_ties",
            "created_compare_apply_ties",
            "fifo_queue",
            "fifo_queue_version_compare",
            "state_machine",
        ]
    );
    let first = &report["strategies"][0];
    assert_eq!(first["end"]["sub_1"], json!({ "status": "active", "plan": "basic", "version": 2 }));
    assert_eq!(
        (&first["matches_truth"], &first["api_calls"], &first["wrong_steps"]),
        (&json!(false), &json!(0), &json!(5))
    );
    assert_eq!(report["strategies"][2]["skipped"], json!(["evt_001", "evt_002", "evt_002"]));
    assert_eq!(report["queue_trace"][1], json!({ "step": 2, "a": "evt_001", "b": "evt_005" }));
    assert_eq!(report["queue_trace"][3], json!({ "step": 4, "a": "evt_002", "b": null }));
}

#[test]
fn the_tables() {
    let (text, _) = lab("same_second --orders all");
    insta::assert_snapshot!("same_second", text);
    let (text, _) = lab("bounced_payout");
    insta::assert_snapshot!("bounced_payout", text);
}

#[test]
fn prove_prints_nought_for_ours_and_fails_with_a_rule_off() {
    let (text, result) = lab("prove --orders 200 --seed 4 --json");
    assert!(result.is_ok(), "{text}");
    let proof: Value = serde_json::from_str(&text).unwrap();
    let ours = proof["strategies"].as_array().unwrap().iter().find(|s| s["name"] == "state_machine").unwrap();
    assert_eq!((&ours["differs"], &ours["waiting"]), (&json!(0), &json!(0)));
    let (text, result) = lab("prove --orders 400 --seed 3 --without snapshot-legs");
    assert!(matches!(result, Err(Failure::Found(_))), "{text}");
}

#[test]
fn errors_say_what_to_do() {
    for (line, want) in [
        ("nowhere.jsonl", "nowhere.jsonl is neither a file nor a scenario (subscription, "),
        ("subscription --strategy hope", "no strategy is called hope; there are arrival_order, "),
    ] {
        let error = lab(line).1.unwrap_err();
        assert!(matches!(error, Failure::Usage(_)) && error.to_string().starts_with(want), "{error}");
    }
}
