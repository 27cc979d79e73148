//! The text block that both tools print: 50 columns, labels in 40, values in 10.

use crate::object::Object;
use inferometer_core::quantile::{quantile, sort};
use std::time::Duration;

const WIDTH: usize = 50;

pub(super) struct TextBlock(String);

impl TextBlock {
    pub(super) fn titled() -> Self {
        let mut block = TextBlock(String::new());
        block.centred(" Serving Benchmark Result ", '=');
        block
    }

    pub(super) fn section(&mut self, title: &str) {
        self.centred(title, '-');
    }

    /// A line of label and value. Longer ones push on; nothing is cut.
    pub(super) fn line(&mut self, label: &str, value: &str) {
        self.0.push_str(&format!("{label:<40} {value:<10}\n"));
    }

    /// A line with two decimals.
    pub(super) fn real(&mut self, label: &str, value: f64) {
        self.line(label, &format!("{value:.2}"));
    }

    pub(super) fn whole(&mut self, label: &str, value: u64) {
        self.line(label, &value.to_string());
    }

    /// A section of one sample: its mean, its median and these percentiles.
    pub(super) fn sample(&mut self, title: &str, label: &str, sample: &Sample, percents: &[f64]) {
        self.section(title);
        self.real(&format!("Mean {label} (ms):"), sample.mean());
        self.real(&format!("Median {label} (ms):"), sample.percentile(50.0));
        for &percent in percents {
            let value = sample.percentile(percent);
            self.real(&format!("P{percent} {label} (ms):"), value);
        }
    }

    pub(super) fn finished(mut self) -> String {
        self.0.push_str(&"=".repeat(WIDTH));
        self.0.push('\n');
        self.0
    }

    /// A title in the middle; an odd rest goes to the right.
    fn centred(&mut self, title: &str, fill: char) {
        let rest = WIDTH.saturating_sub(title.chars().count());
        let left = rest / 2;
        self.0.extend(std::iter::repeat_n(fill, left));
        self.0.push_str(title);
        self.0.extend(std::iter::repeat_n(fill, rest - left));
        self.0.push('\n');
    }
}

/// A sample in milliseconds as both tools see it: nothing at all is 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sample(Vec<f64>);

impl FromIterator<Duration> for Sample {
    fn from_iter<I: IntoIterator<Item = Duration>>(spans: I) -> Self {
        let spans = spans.into_iter();
        let mut millis: Vec<f64> = spans.map(|span| span.as_secs_f64() * 1e3).collect();
        sort(&mut millis);
        Sample(millis)
    }
}

impl Sample {
    /// What result files have of it, under the keys of a metric.
    pub(super) fn put(&self, object: &mut Object, key: &str, percents: &[f64]) {
        object.put(&format!("mean_{key}_ms"), self.mean());
        object.put(&format!("median_{key}_ms"), self.percentile(50.0));
        object.put(&format!("std_{key}_ms"), self.std());
        for &percent in percents {
            object.put(&format!("p{percent}_{key}_ms"), self.percentile(percent));
        }
    }

    pub(super) fn mean(&self) -> f64 {
        match self.0.len() {
            0 => 0.0,
            n => self.0.iter().sum::<f64>() / n as f64,
        }
    }

    /// The deviation of the sample as if it were everything (ddof 0).
    pub(super) fn std(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|value| (value - mean).powi(2)).sum();
        match self.0.len() {
            0 => 0.0,
            n => (squares / n as f64).sqrt(),
        }
    }

    pub(super) fn percentile(&self, percent: f64) -> f64 {
        quantile(&self.0, percent / 100.0).unwrap_or(0.0)
    }

    pub(super) fn max(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::block::*;

    #[test]
    fn an_odd_rest_of_a_title_goes_to_the_right() {
        let mut block = TextBlock::titled();
        block.section("Inter-token Latency");
        let block = block.finished();
        let lines: Vec<&str> = block.lines().collect();
        assert_eq!(
            lines[0],
            "============ Serving Benchmark Result ============"
        );
        assert_eq!(
            lines[1],
            "---------------Inter-token Latency----------------"
        );
        assert_eq!(lines[2].len(), 50);
    }

    #[test]
    fn the_deviation_divides_by_the_whole_sample() {
        let sample: Sample = [1u64, 3].map(Duration::from_millis).into_iter().collect();
        assert!((sample.std() - 1.0).abs() < 1e-12);
        assert_eq!(Sample::default().std(), 0.0);
        assert_eq!(Sample::default().percentile(99.0), 0.0);
    }
}
