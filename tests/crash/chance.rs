//! Chance that can be repeated.

/// A sequence of numbers that its seed decides (SplitMix64).
#[derive(Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `end`.
    pub(crate) const fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// An id as callers make them.
    pub(crate) fn uuid(&mut self) -> String {
        let (high, low) = (u128::from(self.next()), u128::from(self.next()));
        uuid::Builder::from_random_bytes((high << 64 | low).to_be_bytes()).into_uuid().to_string()
    }
}

/// The seed of this run: `A2AD_CRASH_SEED`, else a new one.
pub(crate) fn seed() -> u64 {
    match std::env::var("A2AD_CRASH_SEED") {
        Ok(seed) => seed.parse().expect("A2AD_CRASH_SEED is a number"),
        Err(_) => u64::from_be_bytes(uuid::Uuid::new_v4().as_bytes()[..8].try_into().unwrap()),
    }
}
