//! How many events came in the last minute, in twelve bars of five seconds.

use std::collections::VecDeque;

const BAR_MS: i64 = 5_000;
const BARS: i64 = 12;

/// Counts of arrivals.
#[derive(Debug, Clone, Default)]
pub struct Pulse {
    /// (which five seconds, how many), oldest first.
    counts: VecDeque<(i64, i64)>,
    total: Option<i64>,
}

impl Pulse {
    /// Takes note of how many events there are now. The first call only remembers.
    pub fn observe(&mut self, events: i64, now_ms: i64) {
        let news = self.total.map_or(0, |before| events.saturating_sub(before).max(0));
        self.total = Some(events);
        let slot = now_ms.div_euclid(BAR_MS);
        if news > 0 {
            match self.counts.back_mut() {
                Some((last, n)) if *last == slot => *n += news,
                _ => self.counts.push_back((slot, news)),
            }
        }
        while self.counts.front().is_some_and(|(first, _)| *first <= slot - BARS) {
            self.counts.pop_front();
        }
    }

    /// Whether time alone changes the picture: only while a bar is not zero.
    pub fn moves(&self, now_ms: i64) -> bool {
        self.counts.back().is_some_and(|(last, _)| *last > now_ms.div_euclid(BAR_MS) - BARS - 1)
    }

    /// The bars, oldest first.
    pub fn bars(&self, now_ms: i64) -> String {
        const GLYPHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let slot = now_ms.div_euclid(BAR_MS);
        let heights = (slot - BARS + 1..=slot).map(|s| self.count(s));
        let most = heights.clone().max().unwrap_or(0).max(1);
        heights
            .map(|n| {
                let level = if n == 0 { 0 } else { (n * 7 + most - 1) / most };
                GLYPHS[usize::try_from(level).unwrap_or(0).min(7)]
            })
            .collect()
    }

    /// Events per second over the last ten seconds, with one decimal.
    pub fn per_second(&self, now_ms: i64) -> String {
        let slot = now_ms.div_euclid(BAR_MS);
        let tenths = self.count(slot) + self.count(slot - 1);
        if tenths >= 1_000 { super::text::number(tenths / 10) } else { format!("{}.{}", tenths / 10, tenths % 10) }
    }

    fn count(&self, slot: i64) -> i64 {
        self.counts.iter().find(|(s, _)| *s == slot).map_or(0, |(_, n)| *n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn still_when_nothing_comes() {
        let mut pulse = Pulse::default();
        pulse.observe(100, 1_000_000);
        assert!(!pulse.moves(1_000_000));
        assert_eq!(pulse.bars(1_000_000), "▁▁▁▁▁▁▁▁▁▁▁▁");
        pulse.observe(132, 1_001_000);
        pulse.observe(148, 1_006_000);
        assert_eq!(pulse.per_second(1_006_000), "4.8");
        assert!(pulse.bars(1_006_000).ends_with("█▅"));
        assert!(pulse.moves(1_050_000));
        assert!(!pulse.moves(1_080_000));
    }
}
