//! The default searcher against chance on made-up landscapes of known shape, in the median over
//! seeds: what it must never lose to, whatever is tuned on `bench/tune`.

use crate::landscape::median;
use inferometer_campaign::search::{Ask, Observation, Outcome, Random, Searcher, Tpe};
use inferometer_campaign::space::{
    Admission, Dimension, Domain, Point, Rules, Space, Spacing, Value,
};

const SEEDS: u64 = 21;
const PATIENCE: usize = 120;

/// An engine that refuses nothing, with a default.
struct Known(Point);

impl Rules for Known {
    fn admit(&self, _: &Space, point: Point) -> Admission {
        Admission::Legal(point)
    }

    fn defaults(&self, _: &Space) -> Point {
        self.0.clone()
    }
}

/// Places of the values on the grid: sequences 0 to 7, tokens 0 to 5, cards 0 to 3, cache 0 or 1,
/// kind 0 to 2. Absent where it does not start.
type Shape = fn([f64; 5]) -> Option<f64>;

fn peak(at: f64, best: f64, width: f64) -> f64 {
    (-((at - best) / width).powi(2)).exp()
}

const SHAPES: [(&str, Shape); 5] = [
    ("smooth", |[seqs, tokens, cards, cache, kind]| {
        let rest = 1.0 + 0.1 * cache + 0.05 * kind;
        Some(peak(seqs, 5.0, 3.0) * peak(tokens, 3.0, 3.0) * peak(cards, 1.0, 2.0) * rest)
    }),
    ("one flag matters", |[seqs, tokens, _, _, kind]| {
        let most = if kind == 2.0 { 2.0 } else { 1.0 };
        Some(most + 0.02 * seqs + 0.02 * tokens)
    }),
    ("two flags together", |[seqs, tokens, _, cache, _]| {
        Some(peak(seqs + tokens, 11.0, 2.0) * (1.0 + 0.2 * cache))
    }),
    ("much does not start", |[seqs, tokens, cards, cache, _]| {
        let starts = 2.0 * cards >= 0.5 * seqs + 0.5 * tokens - 1.0;
        starts.then(|| (1.0 + seqs) * peak(tokens, 2.0, 3.0) * (1.0 + 0.2 * cache))
    }),
    ("one card is too small", |[seqs, tokens, cards, _, kind]| {
        let starts = cards >= 2.0 && seqs + tokens <= 4.0 + 3.0 * (cards - 1.0);
        starts.then(|| peak(seqs, 5.0, 3.0) * peak(tokens, 3.0, 4.0) * (1.0 + 0.1 * kind))
    }),
];

fn space() -> Space {
    let kinds = ["auto", "fp8", "int8"].map(|word| Value::Text(word.into()));
    let doubled = |low, high| Domain::int(low, high, Spacing::Log(Some(2.0))).expect("a range");
    let flags = [
        ("seqs", doubled(8, 1024)),
        ("tokens", doubled(256, 8192)),
        ("cards", doubled(1, 8)),
        ("cache", Domain::bool()),
        ("kind", Domain::choice(kinds.to_vec()).expect("words")),
    ];
    Space::new(flags.map(Dimension::from).to_vec(), Vec::new()).expect("flags")
}

fn places(space: &Space, point: &Point) -> [f64; 5] {
    ["seqs", "tokens", "cards", "cache", "kind"].map(|name| {
        let mut dimensions = space.dimensions().iter();
        let dimension = dimensions
            .find(|dimension| dimension.name == name)
            .expect("a flag");
        let value = point.get(name).expect("a whole point");
        let levels = dimension.domain.levels();
        levels
            .iter()
            .position(|level| level.same(value))
            .expect("on the grid") as f64
    })
}

/// Median trials to 95 % of the best, the default included.
fn trials(searcher: &dyn Searcher, shape: Shape) -> f64 {
    let space = space();
    let values = [
        ("seqs", Value::Int(256)),
        ("tokens", Value::Int(2048)),
        ("cards", Value::Int(1)),
        ("cache", Value::Bool(false)),
        ("kind", Value::Text("auto".into())),
    ];
    let rules = Known(values.into_iter().collect());
    let best = space
        .grid()
        .filter_map(|point| shape(places(&space, &point)));
    let best = best.fold(0.0, f64::max);
    let count = |seed| {
        let mut past: Vec<Observation> = Vec::new();
        while past.len() < PATIENCE {
            let ask = Ask {
                space: &space,
                rules: &rules,
                past: &past,
                pending: &[],
                seed,
            };
            let point = match past.len() {
                0 => rules.defaults(&space),
                _ => searcher.next(&ask).expect("there is more"),
            };
            let value = shape(places(&space, &point));
            let outcome = value.map_or(Outcome::Failed, |value| Outcome::Measured {
                objectives: vec![value],
                violation: 0.0,
            });
            past.push(Observation { point, outcome });
            if value.is_some_and(|value| value >= 0.95 * best) {
                break;
            }
        }
        past.len() as f64
    };
    median((0..SEEDS).map(count).collect())
}

#[test]
fn the_default_searcher_is_not_worse_than_chance_on_any_shape() {
    for (name, shape) in SHAPES {
        let (ours, chance) = (trials(&Tpe, shape), trials(&Random, shape));
        assert!(ours <= chance, "{name}: {ours} trials, {chance} by chance");
    }
}
