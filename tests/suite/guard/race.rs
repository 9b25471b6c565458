//! Many at once: eight processes on one order, and workers under random faults while the clock leaps.

use payout_ledger::domain::transfer::intent::State;
use payout_ledger::guard::worker::Point;
use payout_ledger::lab::rng::Rng;
use payout_ledger::store::act::Actor;

use super::crash::child;
use super::stripe::Faults;
use super::{Bench, HOUR_MS, LEASE_MS, Near, runtime};

#[test]
fn eight_processes_retry_one_order_at_once() {
    let bench = Bench::new(21);
    for round in 0..4 {
        let name = format!("r-{round}");
        bench.create(&name);
        bench.stripe.refuse(true);
        runtime().block_on(bench.settle());
        assert_eq!(bench.state(&name), State::Rejected);
        bench.stripe.refuse(false);
        let children: Vec<_> = (0..8).map(|_| child(&bench, None, &name).spawn().unwrap()).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        runtime().block_on(bench.settle());
        let intent = bench.store().find(&name).unwrap().unwrap().intent;
        assert_eq!((intent.version, bench.stripe.of(&name).len()), (1, 1));
        assert_eq!(intent.state, State::Sent);
    }
}

fn random_faults(rng: &mut Rng) -> Faults {
    let mut up_to = |most| u32::try_from(rng.below(most)).unwrap();
    Faults {
        lost_after: up_to(40),
        lost_before: up_to(30),
        busy: up_to(20),
        limited: up_to(20),
        broken: up_to(15),
        broken_but_paid: up_to(15),
        blind: up_to(30),
        forbidden: up_to(10),
    }
}

#[test]
fn random_faults_deaths_presses_and_leaps_of_the_clock() {
    let rounds: usize = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let bench = Bench::new(22);
    let mut rng = Rng::new(22);
    runtime().block_on(async {
        for round in 0..rounds {
            let name = format!("f-{round}");
            bench.create(&name);
            bench.stripe.suffer(random_faults(&mut rng));
            for _ in 0..rng.below(12) {
                bench.stripe.refuse(rng.chance(20));
                let actor = Actor { who: "ann", reason: "", now_ms: bench.stripe.now_ms() };
                match rng.below(6) {
                    0 => drop(bench.store().retry(&name, None, &actor).unwrap()),
                    1 if rng.chance(10) => drop(bench.store().cancel(&name, &actor).unwrap()),
                    1 | 2 => {
                        let dying = Near::dying_at(&bench.stripe, *rng.pick(&Point::ALL).unwrap());
                        bench.worker(dying).step(Some(&name)).await.unwrap();
                    }
                    _ => drop(bench.worker(Near::new(&bench.stripe)).step(Some(&name)).await.unwrap()),
                }
                bench.stripe.pass(*rng.pick(&[0, 1_500, LEASE_MS, HOUR_MS, 23 * HOUR_MS, 25 * HOUR_MS]).unwrap());
            }
            bench.stripe.suffer(Faults::default());
            bench.stripe.refuse(false);
            bench.settle().await;
            bench.assert_settled_once(&name);
            // Whoever holds it now can still pay it: nothing is stranded.
            for _ in 0..3 {
                let actor = Actor { who: "ann", reason: "", now_ms: bench.stripe.now_ms() };
                drop(bench.store().retry(&name, None, &actor).unwrap());
                bench.settle().await;
            }
            bench.assert_settled_once(&name);
            let state = bench.state(&name);
            assert!(state.is_paid() || state == State::Canceled, "{name} is stranded: {state}");
        }
    });
}

#[test]
fn four_workers_share_many_orders() {
    let bench = Bench::new(23);
    for n in 0..40 {
        bench.create(&format!("s-{n}"));
    }
    bench.stripe.suffer(Faults { lost_after: 10, busy: 10, limited: 10, ..Faults::default() });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| runtime().block_on(bench.worker(Near::new(&bench.stripe)).drain()).unwrap());
        }
    });
    bench.stripe.suffer(Faults::default());
    runtime().block_on(bench.settle());
    for n in 0..40 {
        let name = format!("s-{n}");
        bench.assert_settled_once(&name);
        assert!(bench.state(&name).is_paid());
    }
}
