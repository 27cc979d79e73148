//! The values that one flag may take.

use super::value::Value;

/// Values of a number without a step in a grid.
const USUAL_LEVELS: usize = 5;
/// Most steps of a number; beyond it a step means nothing to a search.
pub const MOST_STEPS: u64 = 100_000;

/// As many values as a sweep's list may have.
const MOST_CHOICES: usize = 10_000;

/// The values of one flag. Made by [`Domain::int`] and its sisters, so that bounds are in order,
/// a step fits, and nothing is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Number(Numbers),
    Bool,
    Choice(Vec<Value>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Numbers {
    whole: Whole,
    low: f64,
    high: f64,
    spacing: Spacing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Int,
    Float,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spacing {
    /// Equal differences count alike; with a step only low, low + step, … are taken.
    Linear(Option<f64>),
    /// Equal ratios count alike; with a factor only low, low × factor, … are taken.
    Log(Option<f64>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coordinate {
    /// From 0 (the lowest value) to 1 (the highest).
    Ordered(f64),
    /// One of several without order.
    Category(usize),
}

/// An end of the numbers that a search may try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    Lowest,
    Highest,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DomainError {
    #[error("the bounds [{low}, {high}] are reversed; write [{high}, {low}]")]
    Reversed { low: f64, high: f64 },
    /// Infinite, or too large to be told apart.
    #[error("the bounds [{low}, {high}] are too large; stay within ±2^53")]
    TooLarge { low: f64, high: f64 },
    #[error("log needs bounds above 0, and the low one is {0}; raise it, or leave log out")]
    LogOfZero(f64),
    #[error(
        "the step {0} is too small; leave it out, or give one above 0 (above 1 with log, where it is a factor)"
    )]
    BadStep(f64),
    #[error("there is nothing to choose from; give at least one value")]
    NoChoice,
    #[error("the choice {0} is given twice; give it once")]
    Twice(Value),
    #[error("{0} values to choose from are more than {MOST_CHOICES}; give fewer, or bounds")]
    TooManyChoices(usize),
}

impl Domain {
    /// Whole numbers between two bounds, both included.
    pub fn int(low: i64, high: i64, spacing: Spacing) -> Result<Self, DomainError> {
        Self::number(Whole::Int, low as f64, high as f64, spacing)
    }

    /// Numbers between two bounds, both included.
    pub fn float(low: f64, high: f64, spacing: Spacing) -> Result<Self, DomainError> {
        Self::number(Whole::Float, low, high, spacing)
    }

    pub fn bool() -> Self {
        Domain(Kind::Bool)
    }

    /// Any of these, without order.
    pub fn choice(values: Vec<Value>) -> Result<Self, DomainError> {
        if values.is_empty() {
            return Err(DomainError::NoChoice);
        }
        if values.len() > MOST_CHOICES {
            return Err(DomainError::TooManyChoices(values.len()));
        }
        for (at, value) in values.iter().enumerate() {
            if values[..at].iter().any(|earlier| earlier.same(value)) {
                return Err(DomainError::Twice(value.clone()));
            }
        }
        Ok(Domain(Kind::Choice(values)))
    }

    fn number(whole: Whole, low: f64, high: f64, spacing: Spacing) -> Result<Self, DomainError> {
        const LARGEST: f64 = (1u64 << 53) as f64;
        if !(low.abs() <= LARGEST && high.abs() <= LARGEST) {
            return Err(DomainError::TooLarge { low, high });
        }
        if low > high {
            return Err(DomainError::Reversed { low, high });
        }
        let enough = |step: f64, steps: f64| step.is_finite() && steps < MOST_STEPS as f64;
        match spacing {
            Spacing::Log(_) if low <= 0.0 => return Err(DomainError::LogOfZero(low)),
            Spacing::Linear(Some(step)) if !(step > 0.0 && enough(step, (high - low) / step)) => {
                return Err(DomainError::BadStep(step));
            }
            Spacing::Log(Some(factor))
                if !(factor > 1.0 && enough(factor, (high / low).ln() / factor.ln())) =>
            {
                return Err(DomainError::BadStep(factor));
            }
            Spacing::Linear(_) | Spacing::Log(_) => {}
        }
        Ok(Domain(Kind::Number(Numbers {
            whole,
            low,
            high,
            spacing,
        })))
    }

    /// Whether a value is the lowest or the highest number of several: beyond it nothing is tried.
    pub fn edge(&self, value: &Value) -> Option<Edge> {
        let numbers: Vec<f64> = match &self.0 {
            Kind::Bool => return None,
            Kind::Choice(values) => values.iter().map(Value::number).collect::<Option<_>>()?,
            Kind::Number(_) => self.steps().iter().filter_map(Value::number).collect(),
        };
        let lowest = numbers.iter().copied().reduce(f64::min)?;
        let highest = numbers.iter().copied().reduce(f64::max)?;
        match value.number()? {
            _ if lowest == highest => None,
            value if value <= lowest => Some(Edge::Lowest),
            value if value >= highest => Some(Edge::Highest),
            _ => None,
        }
    }

    /// How many values there are; absent where there is no end of them.
    pub fn count(&self) -> Option<u64> {
        match &self.0 {
            Kind::Bool => Some(2),
            Kind::Choice(values) => Some(values.len() as u64),
            Kind::Number(it) if it.low == it.high => Some(1),
            Kind::Number(it) if it.spacing.step().is_some() => Some(self.steps().len() as u64),
            Kind::Number(it) => (it.whole == Whole::Int).then(|| (it.high - it.low) as u64 + 1),
        }
    }

    pub fn is_unordered(&self) -> bool {
        !matches!(self.0, Kind::Number(_))
    }

    pub fn contains(&self, value: &Value) -> bool {
        match (&self.0, value) {
            (Kind::Bool, Value::Bool(_)) => true,
            (Kind::Choice(values), value) => values.iter().any(|one| one.same(value)),
            (Kind::Number(it), Value::Float(number))
                if it.whole == Whole::Int && number.fract() != 0.0 =>
            {
                false
            }
            (Kind::Number(it), value) => value.number().is_some_and(|number| {
                let is_step = || self.steps().iter().any(|one| one.same(value));
                (it.low..=it.high).contains(&number) && (it.spacing.step().is_none() || is_step())
            }),
            (Kind::Bool, _) => false,
        }
    }

    /// Where a value lies. A number outside of the bounds lies at the nearer end, since an
    /// engine's default need not be in the space; a word that is not a choice lies nowhere.
    pub fn coordinate(&self, value: &Value) -> Option<Coordinate> {
        match &self.0 {
            Kind::Bool => match value {
                Value::Bool(on) => Some(Coordinate::Category(usize::from(*on))),
                _ => None,
            },
            Kind::Choice(values) => {
                let place = values.iter().position(|one| one.same(value));
                place.map(Coordinate::Category)
            }
            &Kind::Number(Numbers {
                low, high, spacing, ..
            }) => {
                let number = value.number()?.clamp(low, high);
                let share = match spacing {
                    _ if low == high => 0.0,
                    Spacing::Linear(_) => (number - low) / (high - low),
                    Spacing::Log(_) => (number / low).ln() / (high / low).ln(),
                };
                Some(Coordinate::Ordered(share))
            }
        }
    }

    /// The value at a share from 0 to 1 of the domain; equal shares are equally likely values.
    pub fn at(&self, share: f64) -> Value {
        let share = share.clamp(0.0, 1.0);
        let pick = |count: usize| ((share * count as f64) as usize).min(count - 1);
        match &self.0 {
            Kind::Bool => Value::Bool(pick(2) == 1),
            Kind::Choice(values) => values[pick(values.len())].clone(),
            Kind::Number(it) if it.spacing.step().is_some() => {
                let steps = self.steps();
                steps[pick(steps.len())].clone()
            }
            Kind::Number(it) => {
                let (low, high) = (it.low, it.high);
                let number = match (it.whole, it.spacing) {
                    // The ends of whole numbers are as likely as the others.
                    (Whole::Int, Spacing::Linear(_)) => low - 0.5 + share * (high - low + 1.0),
                    (_, Spacing::Linear(_)) => low + share * (high - low),
                    (_, Spacing::Log(_)) => low * (high / low).powf(share),
                };
                it.whole.value(number.clamp(low, high))
            }
        }
    }

    pub fn nearest(&self, coordinate: f64) -> Value {
        match &self.0 {
            Kind::Number(it) if it.spacing.step().is_some() => {
                let place = |value: &Value| match self.coordinate(value) {
                    Some(Coordinate::Ordered(share)) => (share - coordinate).abs(),
                    _ => f64::INFINITY,
                };
                let steps = self.steps();
                let best = steps.iter().min_by(|a, b| place(a).total_cmp(&place(b)));
                best.cloned().unwrap_or_else(|| self.at(coordinate))
            }
            Kind::Number(it) if matches!(it.spacing, Spacing::Linear(_)) => {
                let number = it.low + coordinate.clamp(0.0, 1.0) * (it.high - it.low);
                it.whole.value(number)
            }
            _ => self.at(coordinate),
        }
    }

    /// The values of a grid: all steps where a step is given, powers of two with log, a few
    /// evenly spaced ones otherwise.
    pub fn levels(&self) -> Vec<Value> {
        match &self.0 {
            Kind::Bool => vec![Value::Bool(false), Value::Bool(true)],
            Kind::Choice(values) => values.clone(),
            Kind::Number(it) if it.spacing.step().is_some() => self.steps(),
            Kind::Number(it) if matches!(it.spacing, Spacing::Log(_)) => {
                let doubled = std::iter::successors(Some(it.low), |number| Some(number * 2.0));
                let below = doubled.take_while(|number| *number < it.high);
                distinct(below.chain([it.high]).map(|number| it.whole.value(number)))
            }
            Kind::Number(_) => {
                let last = (USUAL_LEVELS - 1) as f64;
                distinct((0..USUAL_LEVELS).map(|at| self.nearest(at as f64 / last)))
            }
        }
    }

    fn steps(&self) -> Vec<Value> {
        let Kind::Number(Numbers {
            whole,
            low,
            high,
            spacing,
        }) = self.0
        else {
            return self.levels();
        };
        let nth = |at: u64| match spacing {
            Spacing::Linear(step) => low + at as f64 * step.unwrap_or(high - low),
            Spacing::Log(factor) => low * factor.unwrap_or(high / low).powf(at as f64),
        };
        // A hair's breadth above the bound is rounding, not another value.
        let within = |number: &f64| *number <= high * (1.0 + 1e-12) + 1e-12;
        distinct(
            (0..=MOST_STEPS)
                .map(nth)
                .take_while(within)
                .map(|number| whole.value(number)),
        )
    }
}

impl Spacing {
    fn step(self) -> Option<f64> {
        match self {
            Spacing::Linear(step) | Spacing::Log(step) => step,
        }
    }
}

impl Whole {
    fn value(self, number: f64) -> Value {
        match self {
            Whole::Int => Value::Int(number.round() as i64),
            // Twelve digits: 0.1 + 0.2 is 0.3 on a command line.
            Whole::Float => Value::Float(format!("{number:.12}").parse().unwrap_or(number)),
        }
    }
}

fn distinct(values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    for value in values {
        if !found.last().is_some_and(|last| last.same(&value)) {
            found.push(value);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(domain: &Domain) -> String {
        let texts: Vec<String> = domain.levels().iter().map(Value::to_string).collect();
        texts.join(" ")
    }

    #[test]
    fn a_grid_has_the_levels_that_an_engineer_would_try() {
        let log = Domain::int(16, 1000, Spacing::Log(None)).unwrap();
        assert_eq!(texts(&log), "16 32 64 128 256 512 1000");
        let step = Domain::float(0.7, 0.95, Spacing::Linear(Some(0.1))).unwrap();
        assert_eq!(texts(&step), "0.7 0.8 0.9");
        let factor = Domain::int(256, 16384, Spacing::Log(Some(4.0))).unwrap();
        assert_eq!(texts(&factor), "256 1024 4096 16384");
        assert_eq!(
            texts(&Domain::int(1, 3, Spacing::Linear(None)).unwrap()),
            "1 2 3"
        );
        assert_eq!(texts(&Domain::bool()), "false true");
    }

    #[test]
    fn what_does_not_make_a_domain_is_refused_with_a_remedy() {
        let linear = Spacing::Linear;
        let message = |domain: Result<Domain, DomainError>| domain.unwrap_err().to_string();
        assert!(message(Domain::int(9, 1, linear(None))).contains("write [1, 9]"));
        assert!(message(Domain::int(0, 9, Spacing::Log(None))).contains("above 0"));
        assert!(message(Domain::float(0.0, f64::NAN, linear(None))).contains("too large"));
        for step in [0.0, -1.0, f64::NAN, 1e-9] {
            assert!(message(Domain::float(0.0, 1.0, linear(Some(step)))).contains("step"));
        }
        assert!(message(Domain::int(1, 9, Spacing::Log(Some(1.0)))).contains("factor"));
        assert!(message(Domain::choice(Vec::new())).contains("at least one"));
        // Each is compared with each: a million would take hours.
        let many = (0..1_000_000).map(Value::Int).collect();
        assert!(message(Domain::choice(many)).contains("more than 10000"));
        assert!(message(Domain::choice(vec![Value::Int(1), Value::Float(1.0)])).contains("twice"));
    }

    proptest! {
        #[test]
        fn every_share_gives_a_value_inside(low in 1..5000i64, more in 0..5000i64, share in 0.0..=1.0,
            spacing in prop::sample::select(vec![Spacing::Linear(None), Spacing::Linear(Some(7.0)),
                Spacing::Log(None), Spacing::Log(Some(2.0))])) {
            let whole = Domain::int(low, low + more, spacing).unwrap();
            let float = Domain::float(low as f64, (low + more) as f64, spacing).unwrap();
            for domain in [whole, float] {
                for value in [domain.at(share), domain.nearest(share)] {
                    prop_assert!(domain.contains(&value), "{value}");
                    prop_assert!(domain.coordinate(&value).is_some());
                }
                for level in domain.levels() {
                    prop_assert!(domain.contains(&level), "{level}");
                }
            }
        }
    }

    #[test]
    fn the_ends_of_a_range_are_its_edges_and_words_have_none() {
        let at = |domain: &Domain, value| domain.edge(&value);
        let seqs = Domain::int(16, 1000, Spacing::Log(Some(2.0))).unwrap();
        assert_eq!(at(&seqs, Value::Int(16)), Some(Edge::Lowest));
        assert_eq!(at(&seqs, Value::Int(256)), None);
        let last = Some(Edge::Highest);
        assert_eq!(at(&seqs, Value::Int(512)), last, "1024 is beyond the range");
        let share = Domain::float(0.8, 0.9, Spacing::Linear(None)).unwrap();
        assert_eq!(at(&share, Value::Float(0.9)), last);
        let blocks = Domain::choice(vec![Value::Int(32), Value::Int(16)]).unwrap();
        assert_eq!(at(&blocks, Value::Int(32)), last);
        let alone = Domain::choice(vec![Value::Int(32)]).unwrap();
        assert_eq!(at(&alone, Value::Int(32)), None);
        assert_eq!(at(&Domain::bool(), Value::Bool(true)), None);
    }
}
