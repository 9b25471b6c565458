//! Guards 3 and 4: the names of a try at Stripe and in the queue. Both follow from order and version alone, so that
//! whoever tries, whenever, says the same name.

/// How long Stripe keeps a key at least, milliseconds (Stripe: Idempotent requests). Afterwards the same key is a new
/// request.
pub const KEY_KEPT_MS: i64 = 24 * 3_600_000;

/// The idempotency key. `version` counts the definite failures that a person retried.
pub fn idempotency_key(order_ref: &str, version: i64) -> String {
    format!("transfer-{order_ref}-v{version}")
}

/// The queue's name of the job: a second one of the same name is refused while the first is known.
pub fn job_id(live: bool, order_ref: &str, version: i64) -> String {
    format!("{}:transfer-{order_ref}-v{version}", if live { "live" } else { "test" })
}

/// Whether Stripe may have forgotten a key that was first used at `first_ms`: from then on only a lookup protects.
pub fn may_be_forgotten(first_ms: Option<i64>, now_ms: i64) -> bool {
    first_ms.is_some_and(|first| now_ms.saturating_sub(first) >= KEY_KEPT_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_order_and_version_alone() {
        assert_eq!(idempotency_key("order-7", 0), "transfer-order-7-v0");
        assert_eq!(job_id(false, "order-7", 2), "test:transfer-order-7-v2");
        // An order that looks like a version is still its own order.
        assert_ne!(idempotency_key("a-v1", 0), idempotency_key("a", 1));
    }

    #[test]
    fn a_key_is_only_trusted_for_a_day() {
        assert!(!may_be_forgotten(None, i64::MAX));
        assert!(!may_be_forgotten(Some(5), 4 + KEY_KEPT_MS));
        assert!(may_be_forgotten(Some(5), 5 + KEY_KEPT_MS));
    }
}
