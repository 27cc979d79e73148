//! Metrics of the summary by name and unit.

use inferometer_compare::Metric;
use inferometer_message::{ComparedMetric, FigureText as Text};
use inferometer_text::Lang;

/// The name of a latency's percentile, as `p99`; without one, of its mean.
pub fn statistic(latency: Text, p: Option<&str>, lang: Lang) -> String {
    let metric = ("metric", latency.text(lang).to_owned());
    match p {
        None => Text::MeanOf.with(lang, &[metric]),
        Some(p) => Text::PercentileOf.with(lang, &[metric, ("p", p.to_owned())]),
    }
}

pub fn metric_name(metric: Metric, lang: Lang) -> String {
    let of = |latency: Text, p: Option<&str>| statistic(latency, p, lang);
    match metric {
        Metric::OutputTokensPerS => Text::OutputThroughput.text(lang).to_owned(),
        Metric::RequestsPerS => Text::RequestThroughput.text(lang).to_owned(),
        Metric::TotalTokensPerS => Text::TotalThroughput.text(lang).to_owned(),
        Metric::OutputTokensPerSPerCard => {
            let metric = [("metric", Text::OutputThroughput.text(lang).to_owned())];
            Text::PerCard.with(lang, &metric)
        }
        Metric::Goodput => Text::Goodput.text(lang).to_owned(),
        Metric::ItemsPerS => Text::ItemThroughput.text(lang).to_owned(),
        Metric::AudioPerS => Text::AudioThroughput.text(lang).to_owned(),
        Metric::SessionsPerHour => Text::SessionsPerHour.text(lang).to_owned(),
        Metric::TtftMean => of(Text::Ttft, None),
        Metric::TtftP50 => of(Text::Ttft, Some("p50")),
        Metric::TtftP99 => of(Text::Ttft, Some("p99")),
        Metric::TpotMean => of(Text::Tpot, None),
        Metric::TpotP50 => of(Text::Tpot, Some("p50")),
        Metric::TpotP99 => of(Text::Tpot, Some("p99")),
        Metric::E2eMean => of(Text::E2e, None),
        Metric::E2eP50 => of(Text::E2e, Some("p50")),
        Metric::E2eP99 => of(Text::E2e, Some("p99")),
        Metric::MaxGapP99 => of(Text::MaxGap, Some("p99")),
        Metric::RtfMean => of(Text::RealTimeFactor, None),
        Metric::RtfP50 => of(Text::RealTimeFactor, Some("p50")),
        Metric::RtfP99 => of(Text::RealTimeFactor, Some("p99")),
    }
}

/// The name of a metric for a narrow column.
pub fn narrow_name(metric: Metric, lang: Lang) -> String {
    let mean = |latency: &str| ComparedMetric::Mean.with(lang, &[("latency", latency.to_owned())]);
    let say = |name: ComparedMetric| name.text(lang).to_owned();
    match metric {
        Metric::OutputTokensPerS => say(ComparedMetric::OutputTokensPerS),
        Metric::RequestsPerS => say(ComparedMetric::RequestsPerS),
        Metric::TotalTokensPerS => say(ComparedMetric::TotalTokensPerS),
        Metric::TtftMean => mean("TTFT"),
        Metric::TtftP50 => "TTFT p50".to_owned(),
        Metric::TtftP99 => "TTFT p99".to_owned(),
        Metric::TpotMean => mean("TPOT"),
        Metric::TpotP50 => "TPOT p50".to_owned(),
        Metric::TpotP99 => "TPOT p99".to_owned(),
        Metric::E2eMean => mean("E2E"),
        Metric::E2eP50 => "E2E p50".to_owned(),
        Metric::E2eP99 => "E2E p99".to_owned(),
        Metric::MaxGapP99 => say(ComparedMetric::MaxGapP99),
        Metric::OutputTokensPerSPerCard => say(ComparedMetric::OutputTokensPerSPerCard),
        Metric::Goodput => say(ComparedMetric::Goodput),
        Metric::ItemsPerS => say(ComparedMetric::ItemsPerS),
        Metric::AudioPerS => say(ComparedMetric::AudioPerS),
        Metric::RtfMean => mean("RTF"),
        Metric::RtfP50 => "RTF p50".to_owned(),
        Metric::RtfP99 => "RTF p99".to_owned(),
        Metric::SessionsPerHour => say(ComparedMetric::SessionsPerHour),
    }
}

/// The name and the unit of what stands at a place of the summary; the place itself where it has
/// no name.
pub fn name_and_unit(path: &str, lang: Lang) -> (String, &'static str) {
    match path.parse::<Metric>() {
        Ok(metric) => {
            let unit = match unit_of(metric) {
                MetricUnit::Sign(sign) => sign,
                MetricUnit::Time => "ms",
            };
            (metric_name(metric, lang), unit)
        }
        Err(_) => (path.to_owned(), ""),
    }
}

/// Whether a metric is a time, in milliseconds; else its unit.
pub fn unit_of(metric: Metric) -> MetricUnit {
    match metric {
        Metric::OutputTokensPerS | Metric::OutputTokensPerSPerCard | Metric::TotalTokensPerS => {
            MetricUnit::Sign("tok/s")
        }
        Metric::RequestsPerS | Metric::Goodput => MetricUnit::Sign("req/s"),
        Metric::ItemsPerS => MetricUnit::Sign("items/s"),
        Metric::AudioPerS => MetricUnit::Sign("s/s"),
        Metric::RtfMean | Metric::RtfP50 | Metric::RtfP99 => MetricUnit::Sign(""),
        Metric::SessionsPerHour => MetricUnit::Sign("1/h"),
        _ => MetricUnit::Time,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// Milliseconds, or seconds where they read better.
    Time,
    Sign(&'static str),
}
