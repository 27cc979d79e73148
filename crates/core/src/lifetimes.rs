//! How long things last of which some were not seen to their end (Kaplan–Meier).

use crate::quantile::quantile;

/// Times until things were over, or for which they had lasted when nobody looked any more.
#[derive(Clone, Debug, Default)]
pub struct Lifetimes {
    /// Rising; of equal times, the ends come first.
    seen: Vec<(f64, End)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Over,
    /// It lasts longer than that.
    Unseen,
}

impl Lifetimes {
    pub fn new(mut seen: Vec<(f64, End)>) -> Self {
        seen.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Lifetimes { seen }
    }

    /// Each end with the share that is over by then.
    fn steps(&self) -> impl Iterator<Item = (f64, f64)> {
        let mut at_risk = self.seen.len();
        // The share that is over, and how many it rests on, since the last unseen end.
        let (mut over_before, mut at_risk_then) = (0.0, at_risk);
        self.seen.iter().filter_map(move |&(time, end)| {
            let over = |at_risk: usize| {
                let since = (at_risk_then - at_risk) as f64 / at_risk_then as f64;
                over_before + (1.0 - over_before) * since
            };
            match end {
                End::Over => {
                    at_risk -= 1;
                    Some((time, over(at_risk)))
                }
                End::Unseen => {
                    over_before = over(at_risk);
                    at_risk -= 1;
                    at_risk_then = at_risk;
                    None
                }
            }
        })
    }

    /// Share that is over within a time; absent where nothing was watched for that long.
    pub fn share_within(&self, limit: f64) -> Option<f64> {
        match self.seen.last() {
            None => None,
            Some(&(longest, End::Unseen)) if longest < limit => None,
            Some(_) => {
                let steps = self.steps().take_while(|&(time, _)| time <= limit);
                Some(steps.last().map_or(0.0, |(_, share)| share))
            }
        }
    }

    /// Time within which a share is over; absent where that many were not watched to their end.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        if self.seen.iter().all(|&(_, end)| end == End::Over) {
            let times: Vec<f64> = self.seen.iter().map(|&(time, _)| time).collect();
            return quantile(&times, p);
        }
        let reached = self.steps().find(|&(_, share)| share >= p);
        reached.map(|(time, _)| time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use End::{Over, Unseen};

    #[test]
    fn shares_agree_with_a_published_example() {
        // Freireich's patients in remission under 6-MP, as Kaplan and Meier estimate them.
        let over = [6, 6, 6, 7, 10, 13, 16, 22, 23].map(|weeks| (f64::from(weeks), Over));
        let unseen =
            [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35].map(|weeks| (f64::from(weeks), Unseen));
        let all = Lifetimes::new(over.into_iter().chain(unseen).collect());
        for (weeks, lasting) in [(6.0, 0.857), (10.0, 0.753), (16.0, 0.627), (23.0, 0.448)] {
            let share = all.share_within(weeks).unwrap();
            assert!((1.0 - share - lasting).abs() < 1e-3, "{weeks}: {share}");
        }
        assert_eq!(all.share_within(36.0), None);
        assert_eq!(all.quantile(0.5), Some(23.0));
        assert_eq!(all.quantile(0.6), None);
    }

    #[test]
    fn seen_to_the_end_they_are_plain_shares_and_percentiles() {
        let all = Lifetimes::new((1..=20).map(|time| (f64::from(time), Over)).collect());
        assert_eq!(all.share_within(19.0), Some(0.95));
        assert_eq!(all.share_within(99.0), Some(1.0));
        assert_eq!(all.share_within(0.5), Some(0.0));
        assert_eq!(all.quantile(0.5), Some(10.5));
        assert_eq!(Lifetimes::default().share_within(1.0), None);
    }
}
