//! Figures of the summary by name, as `--columns` takes them.

use super::CARDS;
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

/// A figure of the summary, ours or another tool's: both have the same keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryColumn {
    /// What it is called in a list of columns.
    pub name: &'static str,
    /// Its keys, with a slash before each.
    place: &'static str,
    pub quantity: Quantity,
    /// Of a distribution.
    pub statistic: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Quantity {
    Milliseconds,
    Seconds,
    RequestsPerSecond,
    TokensPerSecond,
    CharsPerSecond,
    ItemsPerSecond,
    /// Of sound, for each second of the clock.
    AudioSecondsPerSecond,
    /// Of requests: added up over repeats.
    Requests,
    /// Of 1.
    Share,
    /// A plain number, such as a mean length.
    Number,
    /// One time over another.
    Ratio,
}

type Known = (&'static str, &'static str, Quantity);

/// Distributions, single numbers, and numbers that have no other name than their keys.
static KNOWN: LazyLock<[Vec<Known>; 3]> = LazyLock::new(|| {
    let parts = include_str!("../../data/summary-columns.txt").split("\n\n");
    let mut parts = parts.map(|part| part.lines().filter_map(known).collect());
    std::array::from_fn(|_| parts.next().unwrap_or_default())
});

fn known(line: &'static str) -> Option<Known> {
    let words: Vec<&str> = line.split(' ').collect();
    let (name, place, quantity) = match words[..] {
        [name, place, quantity] => (name, place, quantity),
        [place, quantity] => (place, place, quantity),
        _ => return None,
    };
    Some((name, place, quantity.parse().ok()?))
}

/// The first is what the name alone means.
const STATISTICS: [&str; 9] = [
    "mean", "std", "min", "p50", "p75", "p90", "p95", "p99", "max",
];

/// What else a distribution has: how many stand behind it.
const COUNTS: [&str; 4] = ["n", "independent", "answers", "requests_needed"];

/// Not a key of the summary: made of its requests.
const OK_RATE: &str = "/requests/ok_rate";
/// Output tokens a second of one card, where the number of cards is known.
const PER_CARD: &str = "/throughput/output_tokens_per_s_per_card";

/// Other names that people write.
const ALIASES: [(&str, &str); 4] = [
    ("qps", "req_per_s"),
    ("per_card", "tok_per_s_per_card"),
    ("median", "p50"),
    ("avg", "mean"),
];

impl SummaryColumn {
    /// Its value in a summary that was turned into JSON.
    pub fn of(&self, summary: &Value) -> Option<f64> {
        if self.place == OK_RATE {
            return ok_rate(summary.get("requests")?);
        }
        if self.place == PER_CARD {
            let cards = summary.pointer("/tags")?.get(CARDS)?.as_str()?.trim();
            let cards: f64 = cards.parse().ok().filter(|cards| *cards >= 1.0)?;
            let all = summary
                .pointer("/throughput/output_tokens_per_s")?
                .as_f64()?;
            return Some(all / cards);
        }
        let found = summary.pointer(self.place)?;
        let found = self.statistic.map_or(Some(found), |it| found.get(it))?;
        found.as_f64()
    }

    /// Its place in the summary: `latency.ttft_ms.p99`.
    pub fn key(&self) -> String {
        let place = self.place.trim_start_matches('/').replace('/', ".");
        match self.statistic {
            Some(statistic) => format!("{place}.{statistic}"),
            None => place,
        }
    }

    /// In percent.
    pub fn percentile(&self) -> Option<f64> {
        self.statistic?.strip_prefix('p')?.parse().ok()
    }

    /// The percentile that it is and the requests that it would take, where the sample behind it
    /// is too small.
    pub fn lacking(&self, summary: &Value) -> Option<(f64, u64)> {
        let percent = self.percentile()?;
        let sample = summary.pointer(self.place)?.clone();
        let sample: super::Distribution = serde_json::from_value(sample).ok()?;
        Some((percent, sample.requests_for(percent)?))
    }

    /// It has no other name than its keys.
    fn is_key(&self) -> bool {
        self.name == self.place
    }

    /// Every name, those of distributions without their statistic.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let [distributions, plain, _] = &*KNOWN;
        let all = distributions.iter().chain(plain);
        all.map(|(name, ..)| *name)
    }
}

impl fmt::Display for SummaryColumn {
    /// As it is named in a list of columns.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.statistic {
            Some(statistic) => write!(f, "{}.{statistic}", self.name),
            None if self.is_key() => f.write_str(&self.key()),
            None => f.write_str(self.name),
        }
    }
}

/// The share of requests that ended well: of those that ended, and of those that nothing is known
/// of. Who was still streaming, cancelled or never sent does not count.
fn ok_rate(requests: &Value) -> Option<f64> {
    let count = |key: &str| requests.get(key).and_then(Value::as_f64);
    let none = |key: &str| count(key).unwrap_or(0.0);
    let ok = count("ok")?;
    let aside = none("cut") + none("cancelled") + none("unsent");
    let due = count("planned").map_or(0.0, |planned| planned - aside);
    let all = due.max(ok + none("failed"));
    (all > 0.0).then(|| ok / all)
}

/// Columns in the order in which they were named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryColumns(pub Vec<SummaryColumn>);

impl SummaryColumns {
    /// A summary's values, in the order of the columns.
    pub fn of(&self, summary: &impl Serialize) -> Vec<Option<f64>> {
        let summary = serde_json::to_value(summary).unwrap_or_default();
        self.0.iter().map(|column| column.of(&summary)).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a column; the nearest are {nearest} … (see Columns in the manual); keys of summary.json will do, too",
    nearest = nearest(.0).join(", ")
)]
pub struct BadColumn(String);

/// Most names that an error lists.
const MOST_NAMED: usize = 5;

/// The names that have the greatest part of their pairs of letters in common with a text, and those
/// that have at least half as much as the best.
fn nearest(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let pairs: Vec<&[u8]> = text.as_bytes().windows(2).collect();
    let likeness = |name: &str| {
        let own: Vec<&[u8]> = name.as_bytes().windows(2).collect();
        let shared = own.iter().filter(|pair| pairs.contains(pair)).count();
        2.0 * shared as f64 / (own.len() + pairs.len()) as f64
    };
    let mut names: Vec<(f64, &str)> = SummaryColumn::names()
        .map(|name| (likeness(name), name))
        .collect();
    names.sort_by(|a, b| b.0.total_cmp(&a.0));
    let best = names.first().map_or(0.0, |(best, _)| *best);
    let near = names.into_iter().filter(|(it, _)| *it >= best / 2.0);
    near.take(MOST_NAMED).map(|(_, name)| name).collect()
}

impl FromStr for SummaryColumns {
    type Err = BadColumn;

    fn from_str(text: &str) -> Result<Self, BadColumn> {
        let names = text.split(',').map(str::trim);
        Ok(SummaryColumns(
            names.map(str::parse).collect::<Result<_, _>>()?,
        ))
    }
}

impl FromStr for SummaryColumn {
    type Err = BadColumn;

    /// A name, or the end of its keys in the summary: `ttft.p99`, `latency.ttft_ms.p99`.
    fn from_str(text: &str) -> Result<Self, BadColumn> {
        let usual = |word: &str| {
            let alias = ALIASES.iter().find(|(alias, _)| *alias == word);
            alias.map_or(word.to_owned(), |(_, usual)| (*usual).to_owned())
        };
        let words: Vec<String> = text.to_lowercase().split('.').map(usual).collect();
        let find = |known: &[Known], words: &[String]| {
            let keys = format!("/{}", words.join("/"));
            // A statistic alone names nothing, although keys end with it.
            let is_name = !matches!(words, [word] if STATISTICS.contains(&word.as_str()));
            let named = |it: &&Known| words == [it.0] || is_name && it.1.ends_with(&keys);
            known.iter().find(named).copied()
        };
        let column = |(name, place, quantity): Known, statistic| SummaryColumn {
            name,
            place,
            quantity,
            statistic,
        };
        let [distributions, plain, keys] = &*KNOWN;
        if let Some(known) = find(plain, &words) {
            return Ok(column(known, None));
        }
        let all = STATISTICS.iter().chain(&COUNTS);
        let statistic = (words.last()).and_then(|word| all.clone().find(|it| *it == word));
        let (stem, statistic) = match statistic {
            Some(statistic) => (&words[..words.len() - 1], *statistic),
            None => (words.as_slice(), STATISTICS[0]),
        };
        if let Some(known) = find(distributions, stem).filter(|_| !stem.is_empty()) {
            let (name, place, quantity) = known;
            let quantity = if COUNTS.contains(&statistic) {
                Quantity::Number
            } else {
                quantity
            };
            return Ok(column((name, place, quantity), Some(statistic)));
        }
        // Ends of keys may be those of several: all of a key, or all but its first word.
        let typed: Vec<String> = text.to_lowercase().split('.').map(str::to_owned).collect();
        let end = format!("/{}", typed.join("/"));
        let is_long = typed.len() > 1;
        let named = |(_, place, _): &&Known| *place == end || is_long && place.ends_with(&end);
        let found = keys.iter().find(named).copied();
        Ok(column(
            found.ok_or_else(|| BadColumn(text.to_owned()))?,
            None,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn column(text: &str) -> SummaryColumn {
        text.parse().unwrap()
    }

    #[test]
    fn a_column_goes_by_its_name_or_by_its_keys_in_the_summary() {
        for same in ["ttft.p99", "ttft_ms.p99", "latency.ttft_ms.p99", "TTFT.P99"] {
            assert_eq!(column(same), column("ttft.p99"), "{same}");
        }
        assert_eq!(column("per_user").statistic, Some("mean"));
        assert_eq!(column("itl.median"), column("itl.p50"));
        for same in ["qps", "requests_per_s", "throughput.requests_per_s"] {
            assert_eq!(column(same), column("req_per_s"), "{same}");
        }
        let summary = json!({"latency": {"ttft_ms": {"p99": 12.5}}, "requests": {"failed": 3}});
        assert_eq!(column("ttft.p99").of(&summary), Some(12.5));
        assert_eq!(column("failed").of(&summary), Some(3.0));
        assert_eq!(column("itl.p99").of(&summary), None);
    }

    #[test]
    fn every_number_of_the_summary_is_a_column_by_its_keys() {
        let schema = include_str!("../../../../schemas/summary.json");
        let schema: Value = serde_json::from_str(schema).unwrap();
        let mut keys = Vec::new();
        numbers(&schema, &schema, "", &mut keys);
        assert!(keys.len() > 200, "{keys:?}");
        for key in keys {
            let column: SummaryColumn = key.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(column.key(), key);
        }
        let peak = json!({"concurrency": {"peak": 12}});
        assert_eq!(column("concurrency.peak").of(&peak), Some(12.0));
        assert_eq!(column("concurrency.peak").to_string(), "concurrency.peak");
        let refused = json!({"continuation": {"refused": 2, "chars_mean": 481.5}});
        assert_eq!(column("refused").of(&refused), Some(2.0));
        assert_eq!(column("chars").of(&refused), Some(481.5));
    }

    /// The keys of the numbers that a schema describes, but for those in lists.
    fn numbers(schema: &Value, part: &Value, key: &str, found: &mut Vec<String>) {
        if let Some(name) = part["$ref"].as_str() {
            let place = name.trim_start_matches('#');
            return numbers(schema, schema.pointer(place).unwrap(), key, found);
        }
        for one in ["anyOf", "oneOf"]
            .iter()
            .filter_map(|it| part[it].as_array())
        {
            one.iter()
                .for_each(|part| numbers(schema, part, key, found));
        }
        let is = |kind: &str| match &part["type"] {
            Value::Array(kinds) => kinds.iter().any(|it| it == kind),
            one => one == kind,
        };
        if is("number") || is("integer") {
            found.push(key.trim_start_matches('.').to_owned());
        }
        for (name, part) in part["properties"].as_object().into_iter().flatten() {
            numbers(schema, part, &format!("{key}.{name}"), found);
        }
    }

    #[test]
    fn the_share_that_ended_well_counts_lost_requests_and_not_those_set_aside() {
        let of = |requests: Value| column("ok_rate").of(&json!({ "requests": requests }));
        let ours = json!({"planned": 100, "ok": 72, "failed": 8, "cut": 10, "unsent": 10});
        assert_eq!(of(ours), Some(0.9));
        assert_eq!(
            of(json!({"planned": 1000, "ok": 950, "failed": null})),
            Some(0.95)
        );
        assert_eq!(of(json!({"ok": 10, "failed": 0})), Some(1.0));
        assert_eq!(of(json!({"ok": 0, "failed": 0})), None);
        assert_eq!(column("ok_rate").to_string(), "ok_rate");
        let served = json!({"tags": {"cards": "4"}, "throughput": {"output_tokens_per_s": 1000.0}});
        assert_eq!(column("per_card").of(&served), Some(250.0));
        assert_eq!(column("per_card").of(&json!({"tags": {}})), None);
        assert_eq!(column("latency.ttft_ms.p99").to_string(), "ttft.p99");
    }

    #[test]
    fn a_name_that_is_not_known_is_refused_with_the_nearest_of_those_that_are() {
        for (bad, near) in [
            ("", "ttft"),
            ("output_tokens", "output"),
            ("ttft.p98", "ttft"),
            ("success_rate", "ok_rate"),
            ("ttft.mean.mean", "ttft"),
            ("tok/s", "tok_per_s"),
        ] {
            let error = bad.parse::<SummaryColumn>().unwrap_err().to_string();
            let (_, nearest) = error.split_once("nearest are").unwrap();
            assert!(nearest.contains(near), "{bad}: {error}");
            assert!(error.chars().count() < 200, "{error}");
        }
        assert_eq!(nearest("refuse"), ["refused"]);
        assert_eq!(nearest("very-short")[0], "very_short");
        assert!("ttft,nothing".parse::<SummaryColumns>().is_err());
    }
}
