//! A histogram, and its form in Prometheus' text.

use std::fmt::Write as _;

#[derive(Debug)]
pub(crate) struct Histogram {
    pub(crate) bounds: Vec<f64>,
    /// One more than there are bounds; not cumulative.
    pub(crate) counts: Vec<u64>,
    pub(crate) sum: f64,
}

impl Histogram {
    pub(crate) fn new(bounds: Vec<f64>) -> Histogram {
        Histogram {
            counts: vec![0; bounds.len() + 1],
            bounds,
            sum: 0.0,
        }
    }

    pub(crate) fn observe(&mut self, value: f64) {
        let index = self.bounds.partition_point(|bound| *bound < value);
        self.counts[index] += 1;
        self.sum += value;
    }

    pub(crate) fn write(&self, text: &mut String, name: &str, labels: &str) {
        line(text, format_args!("# TYPE {name} histogram"));
        let comma = if labels.is_empty() { "" } else { "," };
        let mut count = 0;
        for (index, bucket) in self.counts.iter().enumerate() {
            count += bucket;
            let bound = match self.bounds.get(index) {
                Some(bound) => format!("{bound:?}"),
                None => "+Inf".to_owned(),
            };
            line(
                text,
                format_args!("{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {count}"),
            );
        }
        line(text, format_args!("{name}_sum{{{labels}}} {}", self.sum));
        line(text, format_args!("{name}_count{{{labels}}} {count}"));
    }
}

pub(crate) fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    writeln!(text, "{content}").expect("writing to a string cannot fail");
}
