//! Random valid histories over every handled type, in random orders, each event at least twice, sweeps and restarts
//! anywhere: whatever the order, the end is the same. 256 histories a run; `PROPTEST_CASES` asks for more.

use std::collections::{BTreeMap, BTreeSet};

use payout_ledger::domain::event::parse;
use payout_ledger::domain::guard::Account;
use payout_ledger::domain::memory::Monitor;
use payout_ledger::domain::retry::Profile;
use payout_ledger::lab::history::{History, Shape, arrivals, generate};
use payout_ledger::lab::rng::Rng;
use payout_ledger::store::read::Reader;
use payout_ledger::store::schema;
use payout_ledger::store::verify::Audit;
use payout_ledger::store::view::{Filter, Page};
use payout_ledger::store::writer::{Arrival, Writer};

use crate::support::memory_dir;

fn cases(fewer: u64) -> u64 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256) / fewer
}

fn history(seed: u64, may_owe: bool) -> (History, Rng) {
    let mut rng = Rng::nth(if may_owe { 7 } else { 3 }, seed);
    let events = 3 + rng.below(16);
    (generate(&mut rng, Shape { events, may_owe, noise: true }), rng)
}

type Ends = (BTreeMap<(String, String), i64>, BTreeMap<String, String>, BTreeSet<(String, String, i64, i64)>);

fn truth(history: &History) -> (BTreeMap<(String, String), i64>, BTreeMap<String, String>) {
    let balances = history.balances.iter().filter(|(_, n)| **n != 0).map(|(k, n)| (k.clone(), *n)).collect();
    (balances, history.payouts.iter().map(|(id, p)| (id.clone(), p.status.clone())).collect())
}

fn key(account: &Account) -> (String, String) {
    (account.0.to_string(), account.1.to_string())
}

fn ends(monitor: &Monitor) -> Ends {
    let balances = monitor.book.balances.iter().map(|(a, b)| (key(a), b.total())).filter(|(_, n)| *n != 0).collect();
    let payouts = monitor.book.payouts.iter().map(|(id, p)| (id.clone(), p.status.to_string())).collect();
    // A cumulative leg may come in several pieces; their sum per leg is what no order changes.
    let mut legs: BTreeMap<(String, String), (i64, i64)> = BTreeMap::new();
    for (object, posted) in &monitor.book.journal {
        for leg in posted {
            let entry = legs.entry((object.clone(), leg.name.clone())).or_default();
            *entry = (entry.0.max(leg.upto), entry.1 + leg.amount);
        }
    }
    (balances, payouts, legs.into_iter().map(|((o, l), (upto, n))| (o, l, upto, n)).collect())
}

/// Delivers with sweeps in between, some of them so late that attempts run out.
fn shuffled(history: &History, rng: &mut Rng) -> Monitor {
    let mut monitor = Monitor::new(false, Profile::default());
    let mut now_ms = 1;
    for at in arrivals(rng, history.events.len(), 2) {
        monitor.deliver(&parse(history.events[at].body.as_bytes()).unwrap(), now_ms);
        legal(&monitor);
        now_ms += 1;
        if rng.chance(25) {
            now_ms += if rng.chance(30) { 400_000 } else { 3_000 };
            monitor.sweep(now_ms);
            legal(&monitor);
        }
    }
    for _ in 0..12 {
        now_ms += 1_000_000;
        monitor.sweep(now_ms);
        legal(&monitor);
    }
    monitor
}

fn legal(monitor: &Monitor) {
    assert!(monitor.book.balances.values().all(|b| b.is_legal()), "{:?}", monitor.book.balances);
}

#[test]
fn in_memory_every_order_ends_at_stripes_own_end() {
    for seed in 0..cases(1) {
        for may_owe in [false, true] {
            let (history, mut rng) = history(seed, may_owe);
            let mut first: Option<Ends> = None;
            for _ in 0..4 {
                let monitor = shuffled(&history, &mut rng);
                let end = ends(&monitor);
                assert_eq!((end.0.clone(), end.1.clone()), truth(&history), "seed {seed}, may owe {may_owe}");
                assert!(monitor.book.blocked.is_empty(), "seed {seed}: {:?}", monitor.book.blocked);
                assert_eq!(*first.get_or_insert_with(|| end.clone()), end, "seed {seed}");
            }
        }
    }
}

#[test]
fn without_some_of_the_money_nothing_is_lost_and_the_shortage_is_shown() {
    for seed in 0..cases(1) {
        let (history, mut rng) = history(seed, seed % 2 == 0);
        let dropped = |kind: &str| kind.starts_with("charge.succeeded") || kind.starts_with("topup");
        let kept: Vec<_> = history.events.iter().filter(|e| !dropped(&e.kind) || rng.chance(40)).cloned().collect();
        let less = History { events: kept, ..history.clone() };
        let mut projected = None;
        for _ in 0..3 {
            let monitor = shuffled(&less, &mut rng);
            let mut totals: BTreeMap<(String, String), i64> = BTreeMap::new();
            for (account, balance) in &monitor.book.balances {
                *totals.entry(key(account)).or_default() += balance.total();
            }
            for row in monitor.book.blocked.values() {
                assert!(row.needs.lacking > 0 && row.is_released(), "what waits says what it lacks");
                for (account, change) in payout_ledger::domain::guard::net(&row.legs).unwrap() {
                    *totals.entry(key(&account)).or_default() += change.total();
                }
            }
            totals.retain(|_, n| *n != 0);
            // posted + waiting never depends on the order.
            assert_eq!(*projected.get_or_insert_with(|| totals.clone()), totals, "seed {seed}");
        }
    }
}

#[test]
fn on_sqlite_with_restarts_anywhere_every_order_ends_the_same_and_the_audit_passes() {
    for seed in 0..cases(4) {
        let (history, mut rng) = history(seed, seed % 2 == 1);
        let dir = memory_dir();
        let path = dir.path().join("ledger.db");
        let open = || Writer::new(schema::open(&path).unwrap(), false, Profile::default()).unwrap();
        let mut writer = open();
        let mut now_ms = 1;
        let order = arrivals(&mut rng, history.events.len(), 2);
        for group in order.chunks(1 + rng.below(6)) {
            let bodies = group.iter().map(|at| history.events[*at].body.clone().into_bytes());
            let batch: Vec<Arrival> = bodies.map(|body| Arrival::new(body, now_ms)).collect();
            writer.ingest(&batch).unwrap();
            now_ms += 1;
            if rng.chance(20) {
                drop(writer);
                writer = open();
            }
            if rng.chance(30) {
                now_ms += if rng.chance(30) { 400_000 } else { 3_000 };
                writer.sweep(now_ms).unwrap();
            }
        }
        for _ in 0..12 {
            now_ms += 1_000_000;
            writer.sweep(now_ms).unwrap();
        }
        drop(writer);
        let reader = Reader::open(&path, false).unwrap();
        let all = reader.balances(&Filter::default(), &Page { cursor: None, before: false, limit: 1_000 }).unwrap();
        let balances: BTreeMap<(String, String), i64> =
            all.into_iter().filter(|b| b.posted != 0).map(|b| ((b.account, b.currency), b.posted)).collect();
        let (want, statuses) = truth(&history);
        assert_eq!(balances, want, "seed {seed}");
        for (id, status) in statuses {
            let row = reader.payout(&id).unwrap().unwrap();
            assert_eq!((row.status, row.posted), (status, true), "seed {seed} {id}");
        }
        let inbox = reader.summary().unwrap().inbox;
        assert_eq!((inbox.waiting, inbox.stuck, inbox.received), (0, 0, 0), "seed {seed}");
        let audit = Audit::of(&path, false).unwrap();
        assert_eq!((audit.broken, audit.depends), (vec![], vec![]), "seed {seed}");
    }
}
