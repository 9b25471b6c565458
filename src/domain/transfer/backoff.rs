//! Reliability, not protection: how long an order rests between tries, and when a person takes over.

/// How often the worker tries by itself, and how long it rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Milliseconds after the first try; doubles.
    pub base_ms: i64,
    /// The longest rest, milliseconds.
    pub most_ms: i64,
    /// Tries before the order becomes a dead letter.
    pub tries: i64,
}

impl Default for Backoff {
    /// 2 s doubling to 10 min, twelve tries: about an hour in all.
    fn default() -> Self {
        Self { base_ms: 2_000, most_ms: 600_000, tries: 12 }
    }
}

impl Backoff {
    /// The rest after try number `tries` (from 1), milliseconds: the upper half of the doubled base is random, so that
    /// workers that failed together do not come back together. `random` is any number.
    pub fn rest_ms(self, tries: i64, random: u64) -> i64 {
        let doublings = u32::try_from((tries - 1).clamp(0, 40)).unwrap_or(0);
        let full = self.base_ms.max(1).saturating_mul(1 << doublings).clamp(1, self.most_ms.max(1));
        let half = full / 2;
        let spread = u64::try_from(full - half).unwrap_or(0);
        half + i64::try_from(random % (spread + 1)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_double_with_jitter_up_to_the_most() {
        let backoff = Backoff::default();
        for (tries, full) in [(1, 2_000), (2, 4_000), (3, 8_000), (9, 512_000), (10, 600_000), (99, 600_000)] {
            for random in [0, 1, 77, u64::MAX] {
                let rest = backoff.rest_ms(tries, random);
                assert!(rest >= full / 2 && rest <= full, "{tries} {random}: {rest}");
            }
        }
        assert!(Backoff { base_ms: i64::MAX, most_ms: i64::MAX, tries: 1 }.rest_ms(50, 3) > 0);
    }
}
