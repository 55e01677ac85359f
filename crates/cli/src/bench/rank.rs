//! Whether the figures of two runs differ by more than chance: the test of Mann and Whitney, exact and two-sided.
//!
//! Its units are rounds, not calls: the calls of a round share what the machine did meanwhile, so that they are not
//! independent, and any test over them would call every difference a certain one. Ranks need no assumption about how
//! figures are distributed, which for latencies is never a normal one.

/// Rounds of each side that are looked at: the exact test takes time with the square of them.
pub(super) const MOST: usize = 30;

/// With fewer on a side, even the clearest difference has a p above 0.05: 2 of the 20 ways to deal 3 and 3.
pub(super) const FEWEST: usize = 4;

/// How likely the two would differ so much, in either direction, if they were from the same source. `None` if there are too
/// few of them.
pub(super) fn p_value(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (&a[..a.len().min(MOST)], &b[..b.len().min(MOST)]);
    if a.len() < FEWEST || b.len() < FEWEST {
        return None;
    }
    let mut all: Vec<(f64, bool)> =
        a.iter().map(|value| (*value, true)).chain(b.iter().map(|value| (*value, false))).collect();
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    // Twice the ranks, so that those of equal figures, which share theirs, are whole.
    let mut ranks = vec![0; all.len()];
    let mut start = 0;
    for group in all.chunk_by(|x, y| x.0 == y.0) {
        ranks[start..start + group.len()].fill(2 * start + group.len() + 1);
        start += group.len();
    }
    let came: usize = all.iter().zip(&ranks).filter(|((_, is_a), _)| *is_a).map(|(_, rank)| rank).sum();
    let most: usize = ranks.iter().sum();
    // In how many ways so many of the ranks have this sum.
    let mut ways = vec![vec![0.0_f64; most + 1]; a.len() + 1];
    ways[0][0] = 1.0;
    for rank in &ranks {
        for chosen in (1..=a.len()).rev() {
            for sum in (*rank..=most).rev() {
                ways[chosen][sum] += ways[chosen - 1][sum - rank];
            }
        }
    }
    let expected = most as f64 * a.len() as f64 / all.len() as f64;
    let distance = (came as f64 - expected).abs();
    let (mut extreme, mut count) = (0.0, 0.0);
    for (sum, ways) in ways[a.len()].iter().enumerate() {
        count += ways;
        if (sum as f64 - expected).abs() >= distance - 1e-9 {
            extreme += ways;
        }
    }
    Some(extreme / count)
}

pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        length if length.is_multiple_of(2) => (sorted[length / 2 - 1] + sorted[length / 2]) / 2.0,
        length => sorted[length / 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with tables, and with what scipy's `mannwhitneyu(method="exact")` says where there are no equal figures.
    #[test]
    fn p_is_that_of_the_exact_test() {
        for (a, b, want) in [
            (&[1.0, 2.0, 3.0, 4.0][..], &[5.0, 6.0, 7.0, 8.0][..], 2.0 / 70.0),
            (&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0], 2.0 / 252.0),
            (&[1.0, 3.0, 5.0, 7.0], &[2.0, 4.0, 6.0, 8.0], 48.0 / 70.0),
            (&[1.0, 1.0, 1.0, 1.0], &[1.0, 1.0, 1.0, 1.0], 1.0),
            (&[5.0, 6.0, 7.0, 8.0, 9.0], &[1.0, 2.0, 3.0, 4.0], 2.0 / 126.0),
        ] {
            let got = p_value(a, b).expect("enough of them");
            assert!((got - want).abs() < 1e-9, "{a:?} {b:?}: {got}, not {want}");
            assert_eq!(p_value(b, a), Some(got), "either way round");
        }
        assert_eq!(p_value(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0, 7.0]), None);
    }

    #[test]
    fn medians_are_in_the_middle() {
        for (values, want) in [(&[][..], 0.0), (&[3.0], 3.0), (&[3.0, 1.0], 2.0), (&[9.0, 1.0, 2.0], 2.0)] {
            assert_eq!(median(values), want);
        }
    }
}
