//! The text form of `/metrics`.

use std::fmt::Write as _;

use super::Metric;

impl Metric {
    /// `# HELP` and `# TYPE`.
    pub fn write_head(&self, out: &mut String) {
        let (name, kind) = (&self.name, self.kind);
        let _ = writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}", self.help);
    }

    /// One sample of a counter or gauge.
    pub fn write_value(&self, out: &mut String, labels: &[(&str, &str)], value: f64) {
        let (labels, value) = (braces(labels, None), number(value));
        let _ = writeln!(out, "{}{labels} {value}", self.name);
    }

    /// The samples of a histogram: `counts` has one entry a bucket, and one for what is above.
    pub fn write_histogram(
        &self,
        out: &mut String,
        labels: &[(&str, &str)],
        bounds: &[f64],
        counts: &[u64],
        sum: f64,
    ) {
        let mut below = 0;
        let infinity = [f64::INFINITY];
        for (bound, count) in bounds.iter().chain(&infinity).zip(counts) {
            below += count;
            let labels = braces(labels, Some(&number(*bound)));
            let _ = writeln!(out, "{}_bucket{labels} {}", self.name, number(below as f64));
        }
        let plain = braces(labels, None);
        let _ = writeln!(out, "{}_count{plain} {}", self.name, number(below as f64));
        let _ = writeln!(out, "{}_sum{plain} {}", self.name, number(sum));
    }
}

fn braces(labels: &[(&str, &str)], bound: Option<&str>) -> String {
    let mut inside: Vec<(&str, &str)> = labels.to_vec();
    if let Some(bound) = bound {
        inside.push(("le", bound));
    }
    // prometheus_client sorts labels by name.
    inside.sort();
    if inside.is_empty() {
        return String::new();
    }
    let pair = |(name, value): &(&str, &str)| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        format!("{name}=\"{}\"", value.replace('\n', "\\n"))
    };
    let pairs: Vec<String> = inside.iter().map(pair).collect();
    format!("{{{}}}", pairs.join(","))
}

/// As Python writes a float.
fn number(value: f64) -> String {
    if value == f64::INFINITY {
        "+Inf".into()
    } else if value.fract() == 0.0 && value.abs() < 1e16 {
        format!("{value:.1}")
    } else {
        format!("{value}")
    }
}

/// One line of `/metrics`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample<'a> {
    /// The metric, with `_bucket`, `_sum` or `_count` of a histogram.
    pub name: &'a str,
    pub labels: Vec<(&'a str, String)>,
    pub value: f64,
}

impl Sample<'_> {
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels
            .iter()
            .find(|(had, _)| *had == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Reads the text of `/metrics`; lines that are not samples are skipped.
pub fn read(text: &str) -> impl Iterator<Item = Sample<'_>> {
    text.lines().filter_map(sample)
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let end = line.find(|c: char| c == '{' || c.is_whitespace())?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            rest = rest.trim_start_matches([',', ' ']);
            if let Some(after) = rest.strip_prefix('}') {
                rest = after;
                break;
            }
            let (label, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            labels.push((label.trim(), value));
            rest = after;
        }
    }
    let value = rest.split_whitespace().next()?;
    let value = match value {
        "+Inf" | "Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        other => other.parse().ok()?,
    };
    Some(Sample {
        name,
        labels,
        value,
    })
}

/// A label's value up to its closing quote, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}
