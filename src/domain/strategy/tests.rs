//! What every strategy does with small hand-made orders. The scenarios' known answers are tested with the scenarios.

use super::*;

fn view(status: &str) -> Arc<View> {
    Arc::new(View::from([("status".to_owned(), status.into())]))
}

fn event(id: &str, object: &str, created: i64, version: Option<i64>, status: &str) -> Arc<Event> {
    let change = if status == "gone" { Change::Gone } else { Change::Snapshot(view(status)) };
    Arc::new(Event {
        id: id.into(),
        object: object.into(),
        created,
        version,
        rank: Some(created),
        change,
        stripe: None,
    })
}

fn delivery(event: &Arc<Event>, at: i64) -> Delivery {
    Delivery { event: event.clone(), at, stalls: false }
}

fn status(run: &Run, object: &str) -> Option<String> {
    let view = run.rows(usize::MAX).get(object)?.view.clone()?;
    view.get("status")?.as_str().map(str::to_owned)
}

#[test]
fn an_object_that_is_gone_is_deleted_by_a_fetch() {
    let (born, gone) = (event("e1", "x", 1, None, "active"), event("e2", "x", 2, None, "gone"));
    let sender = Sender { history: vec![born.clone(), gone.clone()] };
    let late = [delivery(&gone, 3), delivery(&born, 4)];
    let fetched = FetchOnReceipt { workers: 1 }.run(&late, &sender);
    assert_eq!((status(&fetched, "x"), fetched.api_calls), (None, 2));
    assert_eq!(status(&ArrivalOrder.run(&late, &sender), "x"), Some("active".into()));
    assert_eq!(status(&StateMachine { rules: Rules::default() }.run(&late, &sender), "x"), None);
}

#[test]
fn two_workers_without_a_lock_write_an_older_read_last() {
    let (a, b) = (event("e1", "x", 10, None, "active"), event("e2", "x", 20, None, "canceled"));
    let sender = Sender { history: vec![a.clone(), b.clone()] };
    let in_order = [delivery(&a, 11), delivery(&b, 21)];
    assert_eq!(status(&FetchOnReceipt { workers: 1 }.run(&in_order, &sender), "x"), Some("canceled".into()));
    assert_eq!(status(&FetchOnReceipt { workers: 2 }.run(&in_order, &sender), "x"), Some("active".into()));
}

#[test]
fn the_queue_drops_a_repeat_for_five_minutes_only() {
    let (a, b) = (event("e1", "x", 1, None, "a"), event("e2", "x", 2, None, "b"));
    for (gap, end) in [(DUPLICATE_WINDOW - 1, "b"), (DUPLICATE_WINDOW, "a")] {
        let run = FifoQueue { compare_versions: false }
            .run(&[delivery(&a, 0), delivery(&b, 1), delivery(&a, gap)], &Sender::default());
        assert_eq!(status(&run, "x"), Some(end.into()), "{gap}");
    }
}

const DUPLICATE_WINDOW: i64 = fifo_queue::DUPLICATE_WINDOW_S;

#[test]
fn a_worker_that_outlives_the_visibility_timeout_writes_an_old_payload_last() {
    let (a, b) = (event("e1", "x", 1, Some(1), "a"), event("e2", "x", 2, Some(2), "b"));
    let deliveries = [Delivery { stalls: true, ..delivery(&a, 0) }, delivery(&b, 0)];
    let run = FifoQueue { compare_versions: false }.run(&deliveries, &Sender::default());
    let took: Vec<_> = run.trace.iter().map(|r| (r.a, r.b)).collect();
    assert_eq!(took, [(Some(0), None), (None, Some(0)), (None, Some(1))], "the group is locked until the timeout");
    assert_eq!(status(&run, "x"), Some("a".into()));
    let run = FifoQueue { compare_versions: true }.run(&deliveries, &Sender::default());
    assert_eq!(status(&run, "x"), Some("b".into()));
}
