//! Figures of the summary by name, as `--columns` takes them.

use Quantity::*;
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

const DISTRIBUTIONS: [Known; 15] = [
    ("ttft", "/latency/ttft_ms", Milliseconds),
    ("tpot", "/latency/tpot_ms", Milliseconds),
    ("itl", "/latency/itl_ms", Milliseconds),
    ("e2e", "/latency/e2e_ms", Milliseconds),
    ("max_gap", "/latency/max_gap_ms", Milliseconds),
    ("per_user", "/speed/per_user_tokens_per_s", TokensPerSecond),
    ("decode", "/speed/decode_tokens_per_s", TokensPerSecond),
    ("ttft_from_sent", "/latency/ttft_from_sent_ms", Milliseconds),
    ("first_answer", "/latency/first_answer_ms", Milliseconds),
    ("second_token", "/latency/second_token_ms", Milliseconds),
    ("inter_chunk", "/latency/inter_chunk_ms", Milliseconds),
    ("connect", "/latency/connect_ms", Milliseconds),
    ("lag", "/latency/lag_ms", Milliseconds),
    ("cap_wait", "/latency/cap_wait_ms", Milliseconds),
    ("rtf", "/media/rtf", Ratio),
];

/// The first is what the name alone means.
const STATISTICS: [&str; 9] = [
    "mean", "std", "min", "p50", "p75", "p90", "p95", "p99", "max",
];

/// Not a key of the summary: made of its requests.
const OK_RATE: &str = "/requests/ok_rate";

const PLAIN: [Known; 34] = [
    ("req_per_s", "/throughput/requests_per_s", RequestsPerSecond),
    (
        "tok_per_s",
        "/throughput/output_tokens_per_s",
        TokensPerSecond,
    ),
    (
        "total_tok_per_s",
        "/throughput/total_tokens_per_s",
        TokensPerSecond,
    ),
    (
        "input_tok_per_s",
        "/throughput/input_tokens_per_s",
        TokensPerSecond,
    ),
    (
        "chars_per_s",
        "/throughput/output_chars_per_s",
        CharsPerSecond,
    ),
    (
        "input_chars_per_s",
        "/throughput/input_chars_per_s",
        CharsPerSecond,
    ),
    ("items_per_s", "/throughput/items_per_s", ItemsPerSecond),
    (
        "audio_per_s",
        "/throughput/audio_s_per_s",
        AudioSecondsPerSecond,
    ),
    ("audio_s", "/media/audio_s", Seconds),
    ("ok", "/requests/ok", Requests),
    ("ok_rate", OK_RATE, Share),
    ("failed", "/requests/failed", Requests),
    ("cut", "/requests/cut", Requests),
    ("unsent", "/requests/unsent", Requests),
    ("planned", "/requests/planned", Requests),
    ("input", "/tokens/input_mean", Number),
    ("output", "/tokens/output_mean", Number),
    ("chars_per_token", "/tokens/chars_per_token", Number),
    ("goodput", "/slo/goodput_per_s", RequestsPerSecond),
    ("attainment", "/slo/attainment", Number),
    ("in_flight", "/concurrency/mean", Number),
    ("window", "/window_s", Seconds),
    ("score", "/check/score", Number),
    ("sessions_per_h", "/sessions/per_hour", Number),
    ("job_p50", "/sessions/job/p50_ms", Milliseconds),
    ("job_p90", "/sessions/job/p90_ms", Milliseconds),
    ("job_p99", "/sessions/job/p99_ms", Milliseconds),
    ("job_attainment", "/slo/jobs/attainment", Number),
    ("cost_per_mtok", "/cost/per_million_output_tokens", Number),
    ("watts", "/server/energy/watts", Number),
    (
        "joules_per_token",
        "/server/energy/joules_per_output_token",
        Number,
    ),
    (
        "tok_per_joule",
        "/server/energy/output_tokens_per_joule",
        Number,
    ),
    ("valid_json", "/structured/valid_json", Number),
    ("valid_calls", "/structured/valid_tool_calls", Number),
];

/// Other names that people write.
const ALIASES: [(&str, &str); 3] = [("qps", "req_per_s"), ("median", "p50"), ("avg", "mean")];

impl SummaryColumn {
    /// Its value in a summary that was turned into JSON.
    pub fn of(&self, summary: &Value) -> Option<f64> {
        if self.place == OK_RATE {
            return ok_rate(summary.get("requests")?);
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

    /// Whether the sample behind it can bear it; what is no percentile needs none.
    pub fn is_supported(&self, summary: &Value) -> bool {
        let sample = summary.pointer(self.place).cloned();
        let sample = sample.and_then(|it| serde_json::from_value(it).ok());
        match (self.percentile(), sample) {
            (Some(percent), Some(sample)) => super::Distribution::supports(&sample, percent),
            _ => true,
        }
    }

    /// Every name, those of distributions without their statistic.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let all = DISTRIBUTIONS.iter().chain(&PLAIN);
        all.map(|(name, ..)| *name)
    }
}

impl fmt::Display for SummaryColumn {
    /// As it is named in a list of columns.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.statistic {
            Some(statistic) => write!(f, "{}.{statistic}", self.name),
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

/// The names that share the most pairs of letters with a text.
fn nearest(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let pairs: Vec<&[u8]> = text.as_bytes().windows(2).collect();
    let shared = |name: &&str| {
        let own = name.as_bytes().windows(2);
        own.filter(|pair| pairs.contains(pair)).count()
    };
    let mut names: Vec<&str> = SummaryColumn::names().collect();
    names.sort_by_key(|name| std::cmp::Reverse(shared(name)));
    names.truncate(MOST_NAMED);
    names
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
        if let Some(known) = find(&PLAIN, &words) {
            return Ok(column(known, None));
        }
        let statistic = words
            .last()
            .and_then(|word| STATISTICS.iter().find(|it| *it == word));
        let (words, statistic) = match statistic {
            Some(statistic) => (&words[..words.len() - 1], *statistic),
            None => (words.as_slice(), STATISTICS[0]),
        };
        let known = find(&DISTRIBUTIONS, words).filter(|_| !words.is_empty());
        let known = known.ok_or_else(|| BadColumn(text.to_owned()))?;
        Ok(column(known, Some(statistic)))
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
        assert!("ttft,nothing".parse::<SummaryColumns>().is_err());
    }
}
