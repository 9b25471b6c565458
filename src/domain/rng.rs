//! A small random number generator whose sequence for a seed never changes: a seed printed today replays tomorrow.

/// SplitMix64 (Steele, Lea, Flood 2014). Not for secrets.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A sequence of its own for the `n`-th thing of a seed, independent of what happened to the others.
    pub fn nth(seed: u64, n: u64) -> Self {
        let mut rng = Self(seed ^ n.wrapping_mul(0xD1B5_4A32_D192_ED03));
        rng.draw();
        rng
    }

    /// Any 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 when `n` is 0. The bias is below n / 2^64.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.draw()) * n as u128) >> 64) as usize
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent as usize
    }

    /// One element; none of an empty slice.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// Fisher and Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_of_a_seed_is_fixed() {
        let mut rng = Rng::new(42);
        assert_eq!([rng.draw(), rng.draw()], [13_679_457_532_755_275_413, 2_949_826_092_126_892_291]);
        let mut cards: Vec<_> = (0..8).collect();
        Rng::new(7).shuffle(&mut cards);
        let again = {
            let mut cards: Vec<_> = (0..8).collect();
            Rng::new(7).shuffle(&mut cards);
            cards
        };
        assert_eq!(cards, again);
        assert!((0..1000).all(|_| rng.below(3) < 3) && rng.below(0) == 0);
    }
}
