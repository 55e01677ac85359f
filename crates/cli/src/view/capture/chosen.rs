//! Rows that match a filter: a set of places of the list, in order.

/// Words in a block, whose members are counted.
const BLOCK: usize = 64;

/// A bit for each place. It finds the nth member by the counts of blocks, so a million places take microseconds.
#[derive(Debug, Default)]
pub(in crate::view) struct Chosen {
    words: Vec<u64>,
    counts: Vec<u32>,
    len: u32,
}

impl Chosen {
    pub(in crate::view) fn len(&self) -> u32 {
        self.len
    }

    /// Adds a place or takes it out. Whether that has changed anything.
    pub(in crate::view) fn set(&mut self, place: u32, member: bool) -> bool {
        let (word, bit) = (place as usize / 64, 1_u64 << (place % 64));
        if word >= self.words.len() {
            if !member {
                return false;
            }
            self.words.resize(word + 1, 0);
            self.counts.resize(word / BLOCK + 1, 0);
        }
        if (self.words[word] & bit != 0) == member {
            return false;
        }
        self.words[word] ^= bit;
        if member {
            self.counts[word / BLOCK] += 1;
            self.len += 1;
        } else {
            self.counts[word / BLOCK] -= 1;
            self.len -= 1;
        }
        true
    }

    pub(in crate::view) fn contains(&self, place: u32) -> bool {
        self.words.get(place as usize / 64).is_some_and(|word| word & (1 << (place % 64)) != 0)
    }

    /// How many members there are before a place.
    pub(in crate::view) fn before(&self, place: u32) -> u32 {
        let word = (place as usize / 64).min(self.words.len());
        let block = word / BLOCK;
        let blocks: u32 = self.counts[..block.min(self.counts.len())].iter().sum();
        let words: u32 = self.words[block * BLOCK..word].iter().map(|word| word.count_ones()).sum();
        let rest = self.words.get(word).map_or(0, |bits| (bits & ((1 << (place % 64)) - 1)).count_ones());
        blocks + words + if word == place as usize / 64 { rest } else { 0 }
    }

    /// The next member behind a place, or before it, for which something is true.
    pub(in crate::view) fn beyond(&self, place: i64, step: i64, is_one: impl Fn(u32) -> bool) -> Option<u32> {
        let before = |place: i64| u32::try_from(place).map_or(0, |place| self.before(place));
        if step > 0 {
            return self.from(before(place + 1)).find(|&place| is_one(place));
        }
        (0..before(place)).rev().filter_map(|nth| self.from(nth).next()).find(|&place| is_one(place))
    }

    /// Members from the nth on.
    pub(in crate::view) fn from(&self, nth: u32) -> impl Iterator<Item = u32> + '_ {
        let mut skip = nth;
        let mut block = 0;
        while block < self.counts.len() && self.counts[block] <= skip {
            skip -= self.counts[block];
            block += 1;
        }
        let words = self.words.get(block * BLOCK..).unwrap_or_default();
        words
            .iter()
            .enumerate()
            .flat_map(move |(at, &word)| bits(word).map(move |bit| ((block * BLOCK + at) * 64) as u32 + bit))
            .skip(skip as usize)
    }
}

/// The numbers of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn it_is_the_set_that_it_says() {
        let mut chosen = Chosen::default();
        let mut set = BTreeSet::new();
        let mut seed = 1_u32;
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (place, member) = ((seed >> 8) % 30_000, seed >> 30 != 0);
            let changed = if member { set.insert(place) } else { set.remove(&place) };
            assert_eq!(chosen.set(place, member), changed);
        }
        assert_eq!(chosen.len() as usize, set.len());
        for place in [0, 1, 63, 64, 4095, 4096, 29_999, 30_000, 1_000_000] {
            assert_eq!(chosen.before(place) as usize, set.range(..place).count(), "{place}");
            assert_eq!(chosen.contains(place), set.contains(&place));
        }
        for place in [-1, 0, 63, 4096, 29_999, 40_000] {
            let even = |place: u32| place.is_multiple_of(2);
            let behind = set.iter().copied().find(|&member| i64::from(member) > place && even(member));
            let before = set.iter().rev().copied().find(|&member| i64::from(member) < place && even(member));
            assert_eq!(chosen.beyond(place, 1, even), behind, "{place}");
            assert_eq!(chosen.beyond(place, -1, even), before, "{place}");
        }
        for nth in [0, 1, 500, set.len() - 1, set.len(), set.len() + 5] {
            let want: Vec<u32> = set.iter().copied().skip(nth).take(100).collect();
            assert_eq!(chosen.from(nth as u32).take(100).collect::<Vec<_>>(), want, "{nth}");
        }
    }
}
