//! Workers die between any two steps: in the process, and as processes of their own killed with SIGKILL.

use std::process::{Command, Stdio};
use std::time::Duration;

use payout_ledger::domain::transfer::intent::State;
use payout_ledger::guard::worker::{Point, Step, Surroundings};
use payout_ledger::lab::rng::Rng;

use super::{Bench, HOUR_MS, LEASE_MS, Near, runtime};

/// Rounds per point; the points are five.
const ROUNDS: usize = 40;

#[test]
fn two_deaths_at_any_two_points_and_a_day_in_between() {
    let bench = Bench::new(11);
    let mut rng = Rng::new(11);
    runtime().block_on(async {
        for round in 0..ROUNDS / 2 {
            for first in Point::ALL {
                let name = format!("o-{round}-{first:?}");
                bench.create(&name);
                let second = *rng.pick(&Point::ALL).unwrap();
                for point in [first, second] {
                    let dying = bench.worker(Near::dying_at(&bench.stripe, point));
                    assert_ne!(dying.step(Some(&name)).await.unwrap(), Step::Idle, "it is due");
                    bench.stripe.pass(if rng.chance(30) { 25 * HOUR_MS } else { LEASE_MS });
                    if bench.state(&name).is_paid() {
                        break;
                    }
                }
                bench.settle().await;
                bench.assert_settled_once(&name);
                assert!(bench.state(&name).is_paid(), "{name}: nothing but deaths went wrong, so it is paid");
            }
        }
    });
}

#[test]
fn an_order_that_kills_every_worker_ends_in_a_persons_hands() {
    let bench = Bench::new(14);
    bench.create("poison");
    runtime().block_on(async {
        for _ in 0..20 {
            let dying = bench.worker(Near::dying_at(&bench.stripe, Point::Claimed));
            dying.step(None).await.unwrap();
            bench.stripe.pass(LEASE_MS);
        }
        assert_eq!(bench.state("poison"), State::DeadLetter);
        let actor = payout_ledger::store::act::Actor { who: "ann", reason: "", now_ms: bench.stripe.now_ms() };
        bench.store().retry("poison", Some(0), &actor).unwrap().unwrap();
        bench.settle().await;
        assert_eq!((bench.state("poison"), bench.stripe.of("poison").len()), (State::Sent, 1));
    });
}

/// Dies by SIGKILL, which nothing can catch.
struct Killed {
    now_ms: i64,
    at: Option<Point>,
}

impl Surroundings for Killed {
    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn random(&self) -> u64 {
        0
    }

    fn goes_on(&self, at: Point) -> bool {
        if self.at == Some(at) {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
            std::thread::sleep(Duration::from_secs(60));
        }
        true
    }
}

/// What a child process is told: database, base URL, clock, number of the point to die at.
const TOLD: &str = "PAYOUT_LEDGER_TEST_WORKER";

/// No test by itself: the child of the ones below.
#[test]
fn child_worker() {
    let Ok(told) = std::env::var(TOLD) else { return };
    let parts: Vec<&str> = told.split('|').collect();
    let [path, base, now_ms, point, press] = parts[..] else { panic!("{told}") };
    let near = Killed {
        now_ms: now_ms.parse().unwrap(),
        at: point.parse::<usize>().ok().and_then(|n| Point::ALL.get(n).copied()),
    };
    let store = payout_ledger::store::transfers::Transfers::open(path.as_ref(), false).unwrap();
    if !press.is_empty() {
        let actor = payout_ledger::store::act::Actor { who: "ann", reason: "", now_ms: near.now_ms };
        let pressed = store.retry(press, Some(0), &actor).unwrap();
        println!("pressed: {pressed:?}");
    }
    let client = super::stripe::client(base);
    let settings = payout_ledger::guard::worker::Settings::default();
    let worker = payout_ledger::guard::worker::Worker::new(store, client, near, settings).unwrap();
    runtime().block_on(worker.drain()).unwrap();
}

/// A worker in a process of its own.
pub(super) fn child(bench: &Bench, point: Option<usize>, press: &str) -> Command {
    let point = point.map_or_else(String::new, |n| n.to_string());
    let told = format!("{}|{}|{}|{point}|{press}", bench.path.display(), bench.stripe.base, bench.stripe.now_ms());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["guard::crash::child_worker", "--exact", "--nocapture"]).env(TOLD, told);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn kill_9_at_every_point() {
    let bench = Bench::new(12);
    for round in 0..ROUNDS {
        for point in 0..Point::ALL.len() {
            let name = format!("k-{round}-{point}");
            bench.create(&name);
            let status = child(&bench, Some(point), "").status().unwrap();
            assert!(!status.success(), "it was killed");
            let day = if round % 3 == 0 { 25 * HOUR_MS } else { LEASE_MS };
            bench.stripe.pass(day);
        }
        // One healthy worker goes over all of the round.
        runtime().block_on(bench.settle());
        for point in 0..Point::ALL.len() {
            let name = format!("k-{round}-{point}");
            bench.assert_settled_once(&name);
            assert!(bench.state(&name).is_paid(), "{name}");
        }
    }
}

#[test]
fn kill_9_at_any_moment() {
    let bench = Bench::new(13);
    let mut rng = Rng::new(13);
    for round in 0..8 {
        for n in 0..6 {
            bench.create(&format!("m-{round}-{n}"));
        }
        let mut child = child(&bench, None, "").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(rng.below(60) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        bench.stripe.pass(LEASE_MS);
        runtime().block_on(bench.settle());
        for n in 0..6 {
            let name = format!("m-{round}-{n}");
            bench.assert_settled_once(&name);
            assert!(matches!(bench.state(&name), State::Sent | State::Adopted));
        }
    }
}
