//! When the next token comes: the fixed timing.

use std::time::Duration;

use crate::random::RandomStream;

/// A fixed time to first token and a fixed gap, each blurred by ± `jitter`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedTiming {
    pub(crate) ttft: Duration,
    pub(crate) itl: Duration,
    pub(crate) jitter: Duration,
}

/// The due times of one request's tokens, as offsets from its arrival.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    timing: FixedTiming,
    draw: RandomStream,
    last: Option<Duration>,
}

impl FixedTiming {
    pub(crate) fn pace(self, draw: RandomStream) -> Pace {
        Pace {
            timing: self,
            draw,
            last: None,
        }
    }
}

impl Pace {
    /// When the next token is due. Offsets count from the arrival, not from the previous
    /// write, so that a late write does not delay the tokens after it.
    pub(crate) fn next_due(&mut self) -> Duration {
        let due = match self.last {
            None => self.blur(self.timing.ttft),
            Some(last) => last + self.blur(self.timing.itl),
        };
        self.last = Some(due);
        due
    }

    fn blur(&mut self, gap: Duration) -> Duration {
        let jitter = self.timing.jitter;
        if jitter.is_zero() {
            return gap;
        }
        let width = u64::try_from(jitter.as_nanos())
            .unwrap_or(u64::MAX / 2)
            .min(u64::MAX / 2)
            * 2;
        let up = Duration::from_nanos(self.draw.below(width + 1));
        (gap + up).saturating_sub(jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    const MS: Duration = Duration::from_millis(1);

    fn pace(jitter: Duration) -> Pace {
        let timing = FixedTiming {
            ttft: 200 * MS,
            itl: 20 * MS,
            jitter,
        };
        timing.pace(RandomStream::new(1, 1, Purpose::Pace))
    }

    #[test]
    fn without_jitter_tokens_fall_on_the_grid() {
        let mut pace = pace(Duration::ZERO);
        let dues: Vec<_> = (0..4).map(|_| pace.next_due()).collect();
        assert_eq!(dues, [200 * MS, 220 * MS, 240 * MS, 260 * MS]);
    }

    #[test]
    fn jitter_stays_within_its_bounds_on_each_gap() {
        let mut pace = pace(5 * MS);
        let mut last = pace.next_due();
        assert!(last >= 195 * MS && last <= 205 * MS);
        for _ in 0..1000 {
            let due = pace.next_due();
            let gap = due - last;
            assert!(gap >= 15 * MS && gap <= 25 * MS, "{gap:?}");
            last = due;
        }
    }

    #[test]
    fn a_jitter_above_the_gap_never_goes_back_in_time() {
        let mut pace = pace(60 * MS);
        let mut last = pace.next_due();
        for _ in 0..1000 {
            let due = pace.next_due();
            assert!(due >= last);
            last = due;
        }
    }
}
