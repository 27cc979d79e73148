//! What all loads of a test say together.

use super::{Direction, Pooled, Row, Verdict};

/// The verdict over several loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headline {
    Better,
    /// At some loads, which do not speak for the others.
    BetterInPart,
    Worse,
    WorseInPart,
    /// Better at some loads, worse at others.
    Mixed,
    Same,
    SlightlyBetter,
    SlightlyWorse,
    Unknown,
    NotComparable,
}

/// Fewest of the highest loads that speak for all: where a server is at its limit.
const HIGHEST: usize = 2;

impl Headline {
    /// A metric of one group, in the order of the loads, and what these say together. A side is
    /// better as a whole where it is at most loads, at the highest ones, or by all of them
    /// together, and nowhere worse.
    pub fn of(rows: &[&Row], pooled: Option<&Pooled>) -> Self {
        let is = |verdict| move |row: &&&Row| row.verdict == verdict;
        let count = |verdict| rows.iter().filter(is(verdict)).count();
        let slight = |way| rows.iter().any(|row| row.within_margin == Some(way));
        let speaks = |verdict| {
            let highest = rows.iter().rev().take_while(is(verdict)).count();
            let is_all = count(verdict) == highest && highest >= HIGHEST;
            is_all
                || 2 * count(verdict) > rows.len()
                || pooled.is_some_and(|it| it.verdict == verdict)
        };
        let [better, worse, same] = [Verdict::Better, Verdict::Worse, Verdict::Same].map(count);
        match (better > 0, worse > 0) {
            (true, true) => Headline::Mixed,
            (_, false) if speaks(Verdict::Better) => Headline::Better,
            (false, _) if speaks(Verdict::Worse) => Headline::Worse,
            (true, false) => Headline::BetterInPart,
            (false, true) => Headline::WorseInPart,
            _ if same == 0 && count(Verdict::NotComparable) == rows.len() => {
                Headline::NotComparable
            }
            _ if same == 0 || count(Verdict::Unknown) > 0 => Headline::Unknown,
            _ => match [Direction::Better, Direction::Worse].map(slight) {
                [false, false] => Headline::Same,
                [true, false] => Headline::SlightlyBetter,
                [false, true] => Headline::SlightlyWorse,
                [true, true] => Headline::Mixed,
            },
        }
    }
}
