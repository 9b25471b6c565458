//! The ordinary ways: sent, adopted, refused and retried, in doubt, replayed, frozen, taken over by an event.

use payout_ledger::domain::transfer::intent::{Source, State};
use payout_ledger::guard::tell;
use payout_ledger::guard::worker::{Point, Step};
use payout_ledger::store::act::Actor;
use payout_ledger::store::read::Reader;

use super::stripe::Faults;
use super::{Bench, HOUR_MS, LEASE_MS, Near, runtime};

fn actor(bench: &Bench) -> Actor<'static> {
    Actor { who: "ann", reason: "", now_ms: bench.stripe.now_ms() }
}

#[test]
fn an_order_is_sent_and_what_exists_is_adopted() {
    let bench = Bench::new(1);
    runtime().block_on(async {
        bench.create("a");
        bench.create("b");
        let theirs = bench.stripe.plant("b", 4_200, "acct_shopOne");
        bench.create("c");
        for _ in 0..3 {
            bench.stripe.plant("c", 4_200, "acct_shopOne");
        }
        bench.create("d");
        bench.stripe.plant("d", 99, "acct_shopOne");
        bench.settle().await;
        assert_eq!(bench.state("a"), State::Sent);
        let b = bench.store().find("b").unwrap().unwrap().intent;
        assert_eq!((b.state, b.known_from, b.transfer), (State::Adopted, Some(Source::Lookup), Some(theirs)));
        let c = bench.store().find("c").unwrap().unwrap().intent;
        assert_eq!(c.state, State::Conflict);
        assert!(c.reason.unwrap().starts_with("3 transfers"), "all pages are read");
        assert_eq!(bench.state("d"), State::Conflict);
        assert_eq!(bench.stripe.posts(), 1);
    });
}

#[test]
fn a_refusal_is_retried_with_a_new_key_and_never_by_itself() {
    let bench = Bench::new(2);
    runtime().block_on(async {
        bench.create("a");
        bench.stripe.refuse(true);
        bench.settle().await;
        let a = bench.store().find("a").unwrap().unwrap().intent;
        assert!(a.state == State::Rejected && a.reason.unwrap().contains("balance_insufficient"));
        bench.stripe.refuse(false);
        bench.stripe.pass(HOUR_MS);
        bench.settle().await;
        assert_eq!((bench.state("a"), bench.stripe.posts()), (State::Rejected, 1));
        bench.store().retry("a", Some(0), &actor(&bench)).unwrap().unwrap();
        bench.settle().await;
        assert_eq!((bench.state("a"), bench.stripe.of("a").len()), (State::Sent, 1));
    });
}

#[test]
fn a_cached_failure_of_a_rotated_key_is_named_and_gets_a_new_key() {
    let bench = Bench::new(7);
    runtime().block_on(async {
        bench.create("a");
        bench.stripe.refuse_as(Some(401));
        bench.settle().await;
        assert_eq!(bench.state("a"), State::Rejected);
        // The API key is rotated. Stripe stores no 401, so the same key is right; but here it did, and replays it.
        bench.stripe.refuse_as(None);
        bench.stripe.pass(HOUR_MS);
        bench.store().retry("a", Some(0), &actor(&bench)).unwrap().unwrap();
        bench.settle().await;
        let detail = Reader::open(&bench.path, false).unwrap().transfer_detail("a").unwrap().unwrap();
        assert_eq!((detail.row.intent.state, detail.row.intent.version), (State::Rejected, 0));
        let last = tell::attempts(&detail).pop().unwrap();
        assert!(last.replayed && last.sent_ms - last.key_first_ms >= HOUR_MS);
        assert!(last.note.unwrap().starts_with("this is a replay of an old failure"));
        bench.store().retry("a", Some(0), &actor(&bench)).unwrap().unwrap();
        bench.settle().await;
        assert_eq!((bench.state("a"), bench.stripe.of("a").len()), (State::Sent, 1));
    });
}

#[test]
fn a_key_that_may_not_look_sends_nothing_and_names_the_permission() {
    let bench = Bench::new(8);
    runtime().block_on(async {
        bench.create("a");
        bench.stripe.suffer(Faults { forbidden: 100, ..Faults::default() });
        bench.settle().await;
        let a = bench.store().find("a").unwrap().unwrap().intent;
        assert!(a.state == State::DeadLetter && a.reason.unwrap().contains("rak_transfer_read"));
        bench.stripe.suffer(Faults::default());
        bench.stripe.refuse_as(Some(403));
        bench.store().retry("a", Some(0), &actor(&bench)).unwrap().unwrap();
        bench.settle().await;
        assert_eq!((bench.state("a"), bench.stripe.posts()), (State::Rejected, 1));
        bench.stripe.refuse(false);
        bench.store().retry("a", Some(0), &actor(&bench)).unwrap().unwrap();
        bench.settle().await;
        assert_eq!((bench.state("a"), bench.stripe.of("a").len()), (State::Sent, 1));
    });
}

#[test]
fn an_answer_lost_after_the_money_moved_is_found_by_looking() {
    let bench = Bench::new(3);
    runtime().block_on(async {
        bench.create("a");
        bench.stripe.suffer(Faults { lost_after: 100, ..Faults::default() });
        let worker = bench.worker(Near::new(&bench.stripe));
        worker.step(None).await.unwrap();
        assert_eq!(bench.state("a"), State::Unknown);
        assert!(bench.store().cancel("a", &actor(&bench)).unwrap().is_err(), "what may exist cannot be canceled");
        bench.stripe.suffer(Faults::default());
        bench.settle().await;
        assert_eq!((bench.state("a"), bench.stripe.posts()), (State::Adopted, 1));
    });
}

#[test]
fn a_stored_500_waits_until_the_key_is_forgotten() {
    let bench = Bench::new(4);
    runtime().block_on(async {
        bench.create("a");
        bench.stripe.suffer(Faults { broken: 100, ..Faults::default() });
        let start = bench.stripe.now_ms();
        let worker = bench.worker(Near::new(&bench.stripe));
        worker.step(None).await.unwrap();
        bench.stripe.suffer(Faults::default());
        bench.settle().await;
        assert_eq!((bench.state("a"), bench.stripe.of("a").len(), bench.stripe.posts()), (State::Sent, 1, 3));
        assert!(bench.stripe.now_ms() - start >= 24 * HOUR_MS);
    });
}

#[test]
fn a_worker_that_slept_after_writing_down_does_not_post() {
    let bench = Bench::new(5);
    bench.create("a");
    let (path, stripe) = (bench.path.clone(), bench.stripe.clone());
    let near = Near::doing(&bench.stripe, Point::WrittenDown, move || {
        // It sleeps: another takes over and pays, and a day later Stripe has forgotten the key.
        stripe.pass(LEASE_MS);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let other = super::worker(&path, Near::new(&stripe));
                runtime().block_on(other.drain()).unwrap();
            });
        });
        stripe.pass(25 * HOUR_MS);
    });
    let worker = bench.worker(near);
    runtime().block_on(async {
        worker.step(None).await.unwrap();
        assert_eq!(worker.step(None).await.unwrap(), Step::Idle);
    });
    assert_eq!((bench.state("a"), bench.stripe.of("a").len(), bench.stripe.posts()), (State::Sent, 1, 1));
}

#[test]
fn keys_of_the_other_mode_are_refused() {
    let bench = Bench::new(6);
    let live = payout_ledger::store::transfers::Transfers::open(&bench.path, true).unwrap();
    let settings = payout_ledger::guard::worker::Settings::default();
    let refused =
        payout_ledger::guard::worker::Worker::new(live, bench.stripe.client(), Near::new(&bench.stripe), settings);
    assert!(refused.err().unwrap().contains("test key"));
}
