//! R5: how often a blocked event is tried and how long it rests between.

/// The failure with this number makes an event stuck (or, where Stripe lets a balance go negative, posts it all the same).
pub const MAX_ATTEMPTS: i64 = 8;

/// How long an event rests after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// For `stripe listen`, which never redelivers: `base_ms` doubling, at most sixty times the base
    /// (with the default of 5 s: up to 5 min).
    Dev {
        /// Milliseconds after the first failure.
        base_ms: i64,
    },
    /// For a real endpoint, to which Stripe redelivers for three days: 30 s, 5 min, 30 min, 2 h, 8 h, 24 h, 48 h.
    Live,
}

impl Default for Profile {
    fn default() -> Self {
        Self::Dev { base_ms: 5_000 }
    }
}

impl Profile {
    /// Milliseconds to rest after failure number `attempts` (1 to 7).
    pub fn gap_ms(self, attempts: i64) -> i64 {
        let n = attempts.clamp(1, MAX_ATTEMPTS - 1) - 1;
        match self {
            Self::Dev { base_ms } => base_ms.max(1).saturating_mul(1 << n).min(base_ms.max(1).saturating_mul(60)),
            Self::Live => {
                const S: i64 = 1_000;
                [30 * S, 300 * S, 1_800 * S, 7_200 * S, 28_800 * S, 86_400 * S, 172_800 * S]
                    .get(usize::try_from(n).unwrap_or(0))
                    .copied()
                    .unwrap_or(172_800 * S)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_grow_and_are_capped() {
        let dev: Vec<i64> = (1..=7).map(|n| Profile::default().gap_ms(n) / 1_000).collect();
        assert_eq!(dev, [5, 10, 20, 40, 80, 160, 300]);
        let live: Vec<i64> = (1..=7).map(|n| Profile::Live.gap_ms(n) / 1_000).collect();
        assert_eq!(live, [30, 300, 1_800, 7_200, 28_800, 86_400, 172_800]);
        assert_eq!(Profile::Live.gap_ms(99), 172_800_000);
        assert_eq!(Profile::Dev { base_ms: i64::MAX }.gap_ms(3), i64::MAX);
    }
}
