//! What the envelope makes of clean, odd and broken bodies.

use super::*;

fn payout(extra: &str) -> String {
    format!(
        r#"{{"id":"evt_1","object":"event","type":"payout.paid","created":10,"livemode":false,"data":{{"object":{{
        "id":"po_1","object":"payout","amount":700,"currency":"usd","status":"paid"{extra}}}}}}}"#
    )
}

fn problem(body: &[u8]) -> String {
    match parse(body).unwrap().content {
        Content::Problem(text) => text,
        other => panic!("{other:?}"),
    }
}

fn snapshot(body: &[u8]) -> Snapshot {
    match parse(body).unwrap().content {
        Content::Snapshot(snapshot) => *snapshot,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_clean_event() {
    let event = parse(payout("").as_bytes()).unwrap();
    assert_eq!((event.id.as_str(), event.object.as_str(), event.created), ("evt_1", "po_1", 10));
    assert_eq!(event.account, "platform");
    assert!(matches!(event.content, Content::Snapshot(_)));
}

#[test]
fn mended_for_reading_a_byte_order_mark_bad_utf8_and_half_a_surrogate_pair() {
    let mut marked = b"\xef\xbb\xbf".to_vec();
    marked.extend(payout("").as_bytes());
    snapshot(&marked);
    let latin = payout(r#","description":"caf#""#).replace('#', "\u{1}");
    let latin: Vec<u8> = latin.bytes().map(|b| if b == 1 { 0xe9 } else { b }).collect();
    assert!(format!("{:?}", snapshot(&latin)).contains('\u{fffd}'));
    let half = payout(r#","description":"a \ud83d b","metadata":{"k":"\udc00"}"#);
    assert!(format!("{:?}", snapshot(half.as_bytes())).contains("a \u{fffd} b"));
    let pair = payout(r#","description":"\ud83d\udcb8 \\ud83d""#);
    assert!(format!("{:?}", snapshot(pair.as_bytes())).contains('\u{1f4b8}'));
    assert!(problem(payout("").replace("po_1", "po_\\udc001").as_bytes()).contains("not readable"));
}

#[test]
fn two_readers_must_not_see_two_events() {
    assert!(problem(payout(r#","amount":9"#).as_bytes()).contains("duplicate"));
    assert!(
        problem(payout("").replacen("\"id\":\"evt_1\"", "\"id\":\"evt_1\",\"id\":\"evt_2\"", 1).as_bytes())
            .contains("duplicate key")
    );
}

#[test]
fn what_no_retry_mends_says_what_it_is() {
    for (from, to, word) in [
        ("\"amount\":700,", "", "amount"),
        ("700", "99999999999999999999", "out of range"),
        ("700", "-9223372036854775808", "out of range"),
        ("700", "1.5", "not a whole number"),
        ("\"status\":\"paid\"", "\"status\":\"teleported\"", "teleported"),
        ("usd", "USD", "currency"),
        ("\"created\":10", "\"created\":\"soon\"", "unreadable event"),
        ("\"livemode\":false", "\"account\":\"seller 7\"", "account"),
    ] {
        let text = problem(payout("").replacen(from, to, 1).as_bytes());
        assert!(text.contains(word), "{from} -> {to}: {text}");
        assert!(!text.contains("line"), "{text}");
    }
}

#[test]
fn not_an_event_at_all() {
    for body in ["", "null", "[]", "7", "\"x\"", "{", "{}", r#"{"id":7}"#, r#"{"id":""}"#] {
        assert!(parse(body.as_bytes()).is_err(), "{body}");
    }
    let twice = format!("{}{{}}", payout(""));
    assert!(parse(twice.as_bytes()).is_err(), "trailing bytes");
}

#[test]
fn no_rule_means_ignored() {
    for body in [
        r#"{"id":"evt_2","type":"customer.updated","created":1,"data":{"object":{"id":"cus_1"}}}"#,
        r#"{"id":"evt_2","type":"balance.available","created":1,"data":{"object":{"object":"balance"}}}"#,
        r#"{"id":"evt_2","type":"payout.paid","created":1,"data":{"object":{"id":"x","object":"not_a_payout"}}}"#,
        r#"{"id":"evt_2","object":"v2.core.event","type":"v1.payout.paid","created":"2026-01-02T03:04:05.000Z","related_object":{"id":"po_7"}}"#,
    ] {
        assert!(matches!(parse(body.as_bytes()).unwrap().content, Content::Ignored(_)), "{body}");
    }
}

#[test]
fn deep_nesting_is_read_over() {
    let deep = |n: usize| payout(&format!(",\"metadata\":{}{}", "[".repeat(n), "]".repeat(n)));
    snapshot(deep(100).as_bytes());
    snapshot(deep(50_000).as_bytes());
}
