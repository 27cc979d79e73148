//! The first answers of a closed loop: its streams begin where a long run would have brought them.

/// Which session each stream begins with, and how much of its first answer it asks for.
///
/// The answers of many sessions are laid end to end and cut at one point for each stream, all
/// equally far apart. A stream begins with the answer at its point and asks for the part before
/// it. So long answers are under way as often as after hours, and the streams end one after the
/// other.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstWave {
    firsts: Vec<First>,
    /// Sessions that were chosen from.
    sessions: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct First {
    session: u64,
    share: f64,
}

impl FirstWave {
    /// Waves of sessions to choose from: enough that rare long answers are among them.
    const WAVES: u64 = 64;
    /// Sessions at most, so that a load of very many streams begins as soon as others.
    const SESSIONS: u64 = 16_384;

    /// Chooses among the first `spare` sessions by the tokens of their answers. Where these are
    /// not known, every stream begins with a session of its own.
    pub fn new(streams: u64, spare: u64, tokens: impl Fn(u64) -> Option<u32>) -> FirstWave {
        let streams = streams.max(1);
        let waves = (spare.min(Self::SESSIONS).saturating_sub(1) / streams).min(Self::WAVES);
        // One more than whole waves: equal answers are then cut at a different place each.
        let sessions = waves.max(1) * streams + 1;
        match (0..sessions).map(tokens).collect::<Option<Vec<u32>>>() {
            Some(lengths) => FirstWave {
                firsts: cut(&lengths, streams as usize),
                sessions,
            },
            None => FirstWave::of_own_sessions(streams),
        }
    }

    /// Every stream begins with the session of its own number, and the parts of their first
    /// answers are spread evenly.
    pub fn of_own_sessions(streams: u64) -> FirstWave {
        let first = |stream: u64| First {
            session: stream,
            share: (stream as f64 + 0.5) / streams as f64,
        };
        FirstWave {
            firsts: (0..streams).map(first).collect(),
            sessions: streams,
        }
    }

    fn first(&self, number: u64) -> Option<&First> {
        self.firsts.get(usize::try_from(number).ok()?)
    }

    /// The session that the load begins as its `number`th; those after the first of each stream
    /// were none to choose from.
    pub fn session(&self, number: u64) -> u64 {
        match self.first(number) {
            Some(first) => first.session,
            None => self.sessions + (number - self.firsts.len() as u64),
        }
    }

    /// How many turns of a session with so many are had: that of each stream's first ends early, by
    /// as much for one as for another, so that sessions end and begin as often as after hours.
    pub fn turns(&self, number: u64, turns: u32) -> u32 {
        if self.first(number).is_none() {
            return turns;
        }
        // Even parts of any number of streams, and not in the order of the streams.
        let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
        let share = (golden * (number as f64 + 0.5)).fract();
        ((f64::from(turns) * share) as u32 + 1).min(turns)
    }

    /// What is asked for of an answer that would have `tokens`.
    pub fn tokens(&self, number: u64, tokens: u32) -> u32 {
        let share = self.first(number).map_or(1.0, |first| first.share);
        (f64::from(tokens) * share).ceil() as u32
    }
}

/// The answers at equally distant points, and the parts before the points. An answer that reaches
/// from one point to the next is under way for certain, in one stream.
fn cut(lengths: &[u32], streams: usize) -> Vec<First> {
    let mut left: Vec<(u64, f64)> = (0..)
        .zip(lengths.iter().map(|&tokens| f64::from(tokens.max(1))))
        .collect();
    let mut firsts = Vec::with_capacity(streams);
    let distance = loop {
        let total: f64 = left.iter().map(|(_, tokens)| tokens).sum();
        let distance = total / (streams - firsts.len()) as f64;
        let certain = firsts.len();
        left.retain(|&(session, tokens)| {
            let is_certain = tokens > distance && firsts.len() + 1 < streams;
            if is_certain {
                let share = (firsts.len() as f64 + 0.5) / streams as f64;
                firsts.push(First { session, share });
            }
            !is_certain
        });
        if firsts.len() == certain {
            break distance;
        }
    };
    let mut end = 0.0;
    let mut point = 0.5 * distance;
    for (session, tokens) in left {
        end += tokens;
        if point <= end && firsts.len() < streams {
            let share = 1.0 - (end - point) / tokens;
            firsts.push(First { session, share });
            point += distance;
        }
    }
    firsts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(wave: &FirstWave, streams: u64, tokens: impl Fn(u64) -> u32) -> Vec<u32> {
        let first = |number| wave.tokens(number, tokens(wave.session(number)));
        (0..streams).map(first).collect()
    }

    #[test]
    fn equal_answers_end_one_after_the_other() {
        for streams in [1, 2, 3, 20, 64, 1000] {
            let wave = FirstWave::new(streams, u64::MAX, |_| Some(100_000));
            let mut tokens = asked(&wave, streams, |_| 100_000);
            tokens.sort_unstable();
            for (stream, tokens) in tokens.into_iter().enumerate() {
                let even = (stream as f64 + 0.5) / streams as f64;
                let share = f64::from(tokens) / 100_000.0;
                assert!((share - even).abs() < 0.001, "{streams} {stream} {share}");
            }
        }
    }

    #[test]
    fn long_answers_are_under_way_as_often_as_they_last() {
        // Every tenth is 30 times as long: 300 of 390 tokens are of long ones.
        let tokens = |session: u64| if session % 10 == 7 { 600 } else { 20 };
        let wave = FirstWave::new(39, u64::MAX, |session| Some(tokens(session)));
        let long = (0..39).filter(|&number| tokens(wave.session(number)) == 600);
        assert_eq!(long.count(), 30);
        let left: u32 = asked(&wave, 39, tokens).iter().sum();
        // On average half of each is still to come.
        assert!((8_500..10_500).contains(&left), "{left}");
    }

    #[test]
    fn first_sessions_end_after_each_number_of_turns_equally_often() {
        let wave = FirstWave::of_own_sessions(100);
        let mut ends = [0; 5];
        for number in 0..100 {
            ends[wave.turns(number, 5) as usize - 1] += 1;
        }
        assert!(
            ends.iter().all(|count| (19..=21).contains(count)),
            "{ends:?}"
        );
        assert_eq!([wave.turns(100, 5), wave.turns(7, 1)], [5, 1]);
    }

    #[test]
    fn no_session_is_begun_twice() {
        for spare in [0, 30, 500, u64::MAX] {
            let wave = FirstWave::new(24, spare, |session| Some(10 + (session % 7) as u32));
            let mut sessions: Vec<u64> = (0..100).map(|number| wave.session(number)).collect();
            sessions.sort_unstable();
            sessions.dedup();
            assert_eq!(sessions.len(), 100, "{spare}");
        }
    }

    #[test]
    fn a_long_answer_may_be_under_way_in_one_stream_only() {
        let tokens = |session: u64| if session == 3 { 1_000_000 } else { 1 };
        let wave = FirstWave::new(8, u64::MAX, |session| Some(tokens(session)));
        let mut sessions: Vec<u64> = (0..8).map(|number| wave.session(number)).collect();
        sessions.dedup();
        assert_eq!(sessions.len(), 8);
    }

    #[test]
    fn where_lengths_are_unknown_streams_begin_with_their_own_sessions() {
        let wave = FirstWave::new(4, u64::MAX, |_| None);
        let sessions: Vec<u64> = (0..6).map(|number| wave.session(number)).collect();
        assert_eq!(sessions, [0, 1, 2, 3, 4, 5]);
        let tokens: Vec<u32> = (0..6).map(|number| wave.tokens(number, 100)).collect();
        assert_eq!(tokens, [13, 38, 63, 88, 100, 100]);
    }
}
