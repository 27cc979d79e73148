//! When to end a ladder of rising load early: what lies beyond would cost time and tell nothing.

use inferometer_core::value::BadValue;
use std::fmt;
use std::str::FromStr;

/// How far below the best throughput a point must be to count as falling: less is noise.
const FALLEN: f64 = 0.97;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LadderStop {
    /// More than this share of a point's requests failed.
    FailuresAbove(f64),
    /// The objectives were missed at two loads in a row.
    SloMissedTwice,
    /// Throughput fell from load to load, twice in a row.
    ThroughputFalling,
}

impl FromStr for LadderStop {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let share = || {
            let percent = compact.strip_prefix("failures>")?.strip_suffix('%')?;
            let percent = percent.parse::<f64>().ok()?;
            (0.0..100.0).contains(&percent).then_some(percent / 100.0)
        };
        match compact.as_str() {
            "slo-missed" => Ok(LadderStop::SloMissedTwice),
            "throughput-falling" => Ok(LadderStop::ThroughputFalling),
            _ => share().map(LadderStop::FailuresAbove).ok_or_else(|| {
                BadValue::new(
                    text,
                    "choose failures>20%, slo-missed or throughput-falling",
                )
            }),
        }
    }
}

impl fmt::Display for LadderStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LadderStop::FailuresAbove(share) => write!(f, "failures>{}%", share * 100.0),
            LadderStop::SloMissedTwice => f.write_str("slo-missed"),
            LadderStop::ThroughputFalling => f.write_str("throughput-falling"),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rung {
    pub load: f64,
    pub failed: f64,
    /// Whether the objectives were met, where there are any and they could be judged.
    pub met: Option<bool>,
    /// Output tokens/s.
    pub throughput: Option<f64>,
}

/// The condition that ends a ladder, and the load from which on nothing more is measured.
/// Rungs may come in any order.
pub fn ended(conditions: &[LadderStop], rungs: &[Rung]) -> Option<(LadderStop, f64)> {
    let mut rungs = rungs.to_vec();
    rungs.sort_by(|a, b| a.load.total_cmp(&b.load));
    let ends = conditions.iter().filter_map(|condition| {
        let at = match condition {
            LadderStop::FailuresAbove(share) => {
                rungs.iter().position(|rung| rung.failed > *share)?
            }
            LadderStop::SloMissedTwice => {
                let missed = |pair: &[Rung]| pair.iter().all(|rung| rung.met == Some(false));
                rungs.windows(2).position(missed)? + 1
            }
            LadderStop::ThroughputFalling => falling(&rungs)?,
        };
        Some((*condition, rungs[at].load))
    });
    ends.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The second rung in a row that is below the one before and clearly below the best.
fn falling(rungs: &[Rung]) -> Option<usize> {
    let known: Vec<(usize, f64)> = (rungs.iter().enumerate())
        .filter_map(|(at, rung)| Some((at, rung.throughput?)))
        .collect();
    let mut best = f64::MIN;
    let mut falls = 0;
    for pair in known.windows(2) {
        best = best.max(pair[0].1);
        falls = if pair[1].1 < pair[0].1 && pair[1].1 < FALLEN * best {
            falls + 1
        } else {
            0
        };
        if falls == 2 {
            return Some(pair[1].0);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(load: f64, throughput: f64) -> Rung {
        Rung {
            load,
            throughput: Some(throughput),
            ..Rung::default()
        }
    }

    #[test]
    fn a_ladder_ends_where_throughput_falls_twice_but_not_at_a_wobble() {
        let stop = [LadderStop::ThroughputFalling];
        let curve = |values: &[f64]| -> Vec<Rung> {
            let loads = (0..).map(|power| f64::from(1 << power));
            loads
                .zip(values)
                .map(|(load, value)| rung(load, *value))
                .collect()
        };
        assert_eq!(
            ended(&stop, &curve(&[100., 190., 185., 210., 208., 211.])),
            None
        );
        assert_eq!(ended(&stop, &curve(&[100., 190., 150.])), None);
        let end = ended(&stop, &curve(&[100., 190., 150., 120., 90.]));
        assert_eq!(end, Some((LadderStop::ThroughputFalling, 8.0)));
    }

    #[test]
    fn failures_end_it_at_once_and_missed_objectives_at_the_second_miss() {
        let stop = [LadderStop::SloMissedTwice, LadderStop::FailuresAbove(0.2)];
        let with = |load, failed, met| Rung {
            load,
            failed,
            met,
            throughput: None,
        };
        let once = [
            with(1., 0., Some(true)),
            with(2., 0., Some(false)),
            with(4., 0.2, None),
        ];
        assert_eq!(ended(&stop, &once), None);
        // In whatever order the rungs were climbed.
        let twice = [
            with(4., 0., Some(false)),
            with(1., 0., Some(true)),
            with(2., 0., Some(false)),
        ];
        assert_eq!(
            ended(&stop, &twice),
            Some((LadderStop::SloMissedTwice, 4.0))
        );
        let failing = [with(1., 0.5, None), with(2., 0., None)];
        assert_eq!(ended(&stop, &failing).unwrap().1, 1.0);
    }

    #[test]
    fn conditions_are_read_as_they_are_written() {
        for text in ["failures>20%", "slo-missed", "throughput-falling"] {
            assert_eq!(text.parse::<LadderStop>().unwrap().to_string(), text);
        }
        let refused = "failures>200%"
            .parse::<LadderStop>()
            .unwrap_err()
            .to_string();
        assert!(refused.contains("choose failures>20%"), "{refused}");
    }
}
