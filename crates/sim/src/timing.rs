//! When the next token comes: the fixed timing.

use std::time::Duration;

use crate::{config::Config, random::RandomStream};

/// The due times of one request's tokens, as offsets from its arrival: a fixed time to first
/// token and a fixed gap, each blurred by ± `jitter`.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    ttft: Duration,
    itl: Duration,
    jitter: Duration,
    draw: RandomStream,
    last: Option<Duration>,
}

impl Pace {
    pub(crate) fn new(config: &Config, draw: RandomStream) -> Pace {
        Pace {
            ttft: config.ttft,
            itl: config.itl,
            jitter: config.jitter,
            draw,
            last: None,
        }
    }

    /// When the next token is due. Offsets count from the arrival, not from the previous
    /// write, so that a late write does not delay the tokens after it.
    pub(crate) fn next_due(&mut self) -> Duration {
        let due = match self.last {
            None => self.blur(self.ttft),
            Some(last) => last + self.blur(self.itl),
        };
        self.last = Some(due);
        due
    }

    fn blur(&mut self, gap: Duration) -> Duration {
        if self.jitter.is_zero() {
            return gap;
        }
        let most = u64::MAX / 2;
        let jitter = u64::try_from(self.jitter.as_nanos()).map_or(most, |ns| ns.min(most));
        let up = Duration::from_nanos(self.draw.below(2 * jitter + 1));
        (gap + up).saturating_sub(self.jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    const MS: Duration = Duration::from_millis(1);

    fn pace(jitter: Duration) -> Pace {
        let config = Config {
            ttft: 200 * MS,
            itl: 20 * MS,
            jitter,
            ..Config::default()
        };
        Pace::new(&config, RandomStream::new(1, 1, Purpose::Pace))
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
