//! The chaos proxy's plan: what becomes of the n-th delivery. The seed and n decide; the clock only says when.

use std::fmt;

use super::rng::Rng;

/// How deliveries are mistreated. The default passes them on untouched and at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// The same seed makes the same mischief.
    pub seed: u64,
    /// So many deliveries are shuffled among themselves; 0 and 1 keep their order.
    pub shuffle: usize,
    /// At most so many milliseconds of delay, each its own.
    pub delay_ms: i64,
    /// Percent sent twice.
    pub duplicate: u32,
    /// Percent never sent.
    pub drop: u32,
    /// Everything goes at the turn of a second, so that many share one.
    pub burst: bool,
}

impl Settings {
    /// Reads `shuffle=8,delay=2000ms,duplicate=10%,drop=5%,burst`. The error says what may stand there.
    pub fn parse(text: &str, seed: u64) -> Result<Self, String> {
        let mut settings = Self { seed, ..Self::default() };
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let wrong =
                || format!("{item:?} is no chaos: write for instance shuffle=8,delay=2s,duplicate=10%,drop=5%,burst");
            let (name, value) = item.split_once('=').unwrap_or((item, ""));
            let percent = || value.trim_end_matches('%').parse().ok().filter(|p| *p <= 100).ok_or_else(wrong);
            match name {
                "shuffle" => settings.shuffle = value.parse().ok().filter(|n| *n <= 1_000).ok_or_else(wrong)?,
                "delay" => settings.delay_ms = milliseconds(value).ok_or_else(wrong)?,
                "duplicate" => settings.duplicate = percent()?,
                "drop" => settings.drop = percent()?,
                "burst" if value.is_empty() => settings.burst = true,
                _ => return Err(wrong()),
            }
        }
        Ok(settings)
    }
}

fn milliseconds(text: &str) -> Option<i64> {
    let (number, scale) = match (text.strip_suffix("ms"), text.strip_suffix('s'), text.strip_suffix('m')) {
        (Some(number), ..) => (number, 1),
        (_, Some(number), _) => (number, 1_000),
        (.., Some(number)) => (number, 60_000),
        _ => return None,
    };
    number.parse::<i64>().ok().filter(|n| (0..=1_000_000).contains(n)).map(|n| n * scale)
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shuffle, delay_ms, duplicate, drop, .. } = self;
        let burst = if self.burst { ",burst" } else { "" };
        write!(f, "shuffle={shuffle},delay={delay_ms}ms,duplicate={duplicate}%,drop={drop}%{burst}")
    }
}

/// What becomes of one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// The n-th delivery, from 0.
    pub arrival: u64,
    /// 0, or 1 for the double.
    pub copy: u32,
    /// Unix milliseconds; none when it is never sent.
    pub due_ms: Option<i64>,
}

/// The plan while deliveries come.
#[derive(Debug, Clone)]
pub struct Plan {
    settings: Settings,
    arrived: u64,
    blocks: u64,
    held: Vec<u64>,
}

impl Plan {
    /// Nothing has come yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, arrived: 0, blocks: 0, held: Vec::new() }
    }

    /// Whether deliveries are held back until more come.
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// One more delivery. Answers what is now decided, by due time; nothing while a shuffle window fills.
    pub fn arrive(&mut self, now_ms: i64) -> Vec<Planned> {
        self.held.push(self.arrived);
        self.arrived += 1;
        if self.held.len() >= self.settings.shuffle.max(1) { self.release(now_ms) } else { Vec::new() }
    }

    /// Decides on what is held back, although the window is not full.
    pub fn release(&mut self, now_ms: i64) -> Vec<Planned> {
        let Settings { seed, delay_ms, duplicate, drop, burst, .. } = self.settings;
        Rng::nth(seed, self.blocks).shuffle(&mut self.held);
        self.blocks += 1;
        let mut planned = Vec::new();
        for arrival in self.held.drain(..) {
            let mut rng = Rng::nth(!seed, arrival);
            let is_dropped = rng.chance(drop);
            let copies = if rng.chance(duplicate) { 2 } else { 1 };
            for copy in 0..copies {
                let delay = rng.below(usize::try_from(delay_ms + 1).unwrap_or(1)) as i64;
                let due = now_ms + delay;
                let due = if burst { (due + 999).div_euclid(1_000) * 1_000 } else { due };
                let due_ms = (!is_dropped).then_some(due);
                if copy == 0 || !is_dropped {
                    planned.push(Planned { arrival, copy, due_ms });
                }
            }
        }
        planned.sort_by_key(|p| p.due_ms);
        planned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(settings: Settings, count: usize) -> Vec<Planned> {
        let mut plan = Plan::new(settings);
        let mut all: Vec<_> = (0..count).flat_map(|_| plan.arrive(10_000)).collect();
        all.extend(plan.release(10_000));
        all
    }

    #[test]
    fn without_chaos_all_go_at_once_in_order() {
        let arrivals: Vec<u64> = run(Settings::default(), 20).iter().map(|p| p.arrival).collect();
        assert_eq!(arrivals, (0..20).collect::<Vec<_>>());
        assert!(run(Settings::default(), 3).iter().all(|p| p.due_ms == Some(10_000) && p.copy == 0));
    }

    #[test]
    fn the_seed_decides() {
        let settings = Settings::parse("shuffle=8, delay=2s, duplicate=25%, drop=10%", 7).unwrap();
        let all = run(settings, 200);
        assert_eq!(all, run(settings, 200));
        assert_ne!(all, run(Settings { seed: 8, ..settings }, 200));
        let dropped = all.iter().filter(|p| p.due_ms.is_none()).count();
        let doubled = all.iter().filter(|p| p.copy == 1).count();
        assert!((5..40).contains(&dropped) && (20..80).contains(&doubled), "{dropped} {doubled}");
        let arrivals: std::collections::BTreeSet<u64> = all.iter().map(|p| p.arrival).collect();
        assert_eq!(arrivals.len(), 200, "nothing is forgotten");
        assert!(all.iter().filter_map(|p| p.due_ms).all(|due| (10_000..=12_010).contains(&due)));
        let burst = run(Settings { burst: true, ..settings }, 50);
        assert!(burst.iter().filter_map(|p| p.due_ms).all(|due| due % 1_000 == 0));
    }

    #[test]
    fn what_was_written_is_read_again() {
        let settings = Settings::parse("shuffle=8,delay=150ms,duplicate=10,drop=5%,burst", 1).unwrap();
        assert_eq!(Settings::parse(&settings.to_string(), 1), Ok(settings));
        for bad in ["shuffle", "shuffle=x", "delay=5", "drop=101%", "burst=1", "mayhem"] {
            assert!(Settings::parse(bad, 1).unwrap_err().contains("for instance"), "{bad}");
        }
    }
}
