//! Rounds in which a server with fewer places than streams takes them up. Answers of one length that
//! once began together end together, and those that wait begin together: a phase of prompts, then
//! one without, in which answers are made faster than where both are mixed. So the throughput is
//! that of this phase, and other streams or lengths never see it.

use crate::judge::Rounds;

/// Rounds in which streams keep their places to each other, whatever the median is off by.
const IN_A_ROW: f64 = 4.0;
/// Fewest requests of so many rounds that show how they are spread.
const LEAST: usize = 64;
const PARTS: usize = 16;
/// Share of the busier half of a round from which it is a wave. Evenly spread it is a half, and by
/// chance up to 0.6.
const BUSIER: f64 = 0.65;

/// How requests, whose times of sending are in order, are spread over the time in which an answer is
/// made; where they wait for less than that, no place is taken up in rounds.
pub(super) fn rounds(sends: &[f64], made_ms: f64, waited_ms: f64) -> Option<Rounds> {
    if !(made_ms > 0.0 && waited_ms > made_ms) {
        return None;
    }
    let (begin, end) = (*sends.first()?, *sends.last()?);
    let span = IN_A_ROW * made_ms;
    let whole = ((end - begin) / span) as usize;
    let (mut rest, mut shares) = (sends, Vec::new());
    for at in 0..whole {
        let from = begin + at as f64 * span;
        let (here, after) = rest.split_at(rest.partition_point(|&sent| sent < from + span));
        rest = after;
        if here.len() < LEAST {
            continue;
        }
        let mut parts = [0u32; PARTS];
        for sent in here {
            parts[((sent - from) / made_ms * PARTS as f64) as usize % PARTS] += 1;
        }
        let half = |first: usize| -> u32 {
            (0..PARTS / 2)
                .map(|part| parts[(first + part) % PARTS])
                .sum()
        };
        let busiest = (0..PARTS).map(half).max().unwrap_or_default();
        shares.push(f64::from(busiest) / here.len() as f64);
    }
    let share = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    (share > BUSIER).then_some(Rounds {
        share,
        round_ms: made_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixty-four places that take up requests in the first part of each round of 1.85 s.
    fn sends(part: f64) -> Vec<f64> {
        (0..64 * 20u32)
            .map(|at| 1850.0 * (f64::from(at / 64) + part * f64::from(at % 64) / 64.0))
            .collect()
    }

    #[test]
    fn rounds_with_a_pause_are_told_and_even_ones_are_not() {
        // As seen of a simulated engine: prompts for 1.28 s, then none.
        let found = rounds(&sends(0.69), 1829.0, 5600.0).unwrap();
        assert!((0.68..0.78).contains(&found.share), "{found:?}");
        assert_eq!(rounds(&sends(1.0), 1829.0, 5600.0), None);
        // Without a queue every place is taken up when it is free.
        assert_eq!(rounds(&sends(0.69), 1829.0, 60.0), None);
        assert_eq!(rounds(&[], 1829.0, 5600.0), None);
        assert_eq!(rounds(&sends(0.69)[..80], 1829.0, 5600.0), None);
    }
}
