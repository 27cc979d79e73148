//! What is compared: a figure of the summary, which way is good, and the requests behind it.

use inferometer_core::summary::{Distribution, Summary, SummaryColumn};
use inferometer_statistics::{Batches, student_quantile};

/// A figure of the summary, named by its place there.
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(const_into_str, parse_err_ty = BadMetric, parse_err_fn = BadMetric::new)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// Output tokens a second.
    #[strum(serialize = "throughput.output_tokens_per_s")]
    OutputTokensPerS,
    /// Complete answers a second.
    #[strum(serialize = "throughput.requests_per_s")]
    RequestsPerS,
    /// Prompt and output tokens a second.
    #[strum(serialize = "throughput.total_tokens_per_s")]
    TotalTokensPerS,
    /// Mean time to first token.
    #[strum(serialize = "latency.ttft_ms.mean")]
    TtftMean,
    /// Median time to first token.
    #[strum(serialize = "latency.ttft_ms.p50")]
    TtftP50,
    /// 99th percentile of the time to first token.
    #[strum(serialize = "latency.ttft_ms.p99")]
    TtftP99,
    /// Mean time per output token.
    #[strum(serialize = "latency.tpot_ms.mean")]
    TpotMean,
    /// Median time per output token.
    #[strum(serialize = "latency.tpot_ms.p50")]
    TpotP50,
    /// 99th percentile of the time per output token.
    #[strum(serialize = "latency.tpot_ms.p99")]
    TpotP99,
    #[strum(serialize = "latency.e2e_ms.mean")]
    E2eMean,
    #[strum(serialize = "latency.e2e_ms.p50")]
    E2eP50,
    /// 99th percentile of the latency.
    #[strum(serialize = "latency.e2e_ms.p99")]
    E2eP99,
    /// 99th percentile of the largest gap of each request.
    #[strum(serialize = "latency.max_gap_ms.p99")]
    MaxGapP99,
    /// Output tokens a second of one card.
    #[strum(serialize = "throughput.output_tokens_per_s_per_card")]
    OutputTokensPerSPerCard,
    /// Requests a second that met every objective.
    #[strum(serialize = "slo.goodput_per_s")]
    Goodput,
    /// Vectors or scores a second.
    #[strum(serialize = "throughput.items_per_s")]
    ItemsPerS,
    /// Seconds of sound a second.
    #[strum(serialize = "throughput.audio_s_per_s")]
    AudioPerS,
    /// Mean real-time factor.
    #[strum(serialize = "media.rtf.mean")]
    RtfMean,
    #[strum(serialize = "media.rtf.p50")]
    RtfP50,
    #[strum(serialize = "media.rtf.p99")]
    RtfP99,
    #[strum(serialize = "sessions.per_hour")]
    SessionsPerHour,
}

inferometer_core::serde_as_text!(Metric);

impl Metric {
    /// The metric of a name: its place in the summary, or what tables call it, as in `ttft.p99`.
    pub fn named(text: &str) -> Result<Self, BadMetric> {
        let column = text.parse::<SummaryColumn>().ok();
        let key = column.map_or_else(|| text.to_owned(), |column| column.key());
        key.parse().map_err(|_| BadMetric::new(text))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a metric that can be compared; write one as in tok_per_s, ttft.p99 or latency.e2e_ms.mean"
)]
pub struct BadMetric(String);

impl BadMetric {
    fn new(text: &str) -> Self {
        BadMetric(text.to_owned())
    }
}

/// Degrees of freedom of a run's own interval: its batches, less one.
pub(crate) const WITHIN_DEGREES: f64 = (Batches::MOST - 1) as f64;

/// Columns of a run's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Column {
    Ttft,
    Tpot,
    E2e,
    MaxGap,
    Rtf,
}

/// How a metric comes from requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Source {
    Mean(Column),
    Quantile(Column, f64),
    Rate,
}

impl Metric {
    /// Whether more is better, as for throughput; less is for latency.
    pub fn more_is_better(self) -> bool {
        matches!(self.source(), Source::Rate)
    }

    /// Whether all tools mean the same by it: answers, or their tokens, over the time of the test;
    /// in a closed loop also the mean time from a request to the end of its answer.
    pub(crate) fn is_common(self, is_open: bool) -> bool {
        match self {
            Metric::OutputTokensPerS
            | Metric::RequestsPerS
            | Metric::TotalTokensPerS
            | Metric::OutputTokensPerSPerCard => true,
            Metric::E2eMean => !is_open,
            _ => false,
        }
    }

    pub fn of(self, summary: &Summary) -> Option<f64> {
        let rate = &summary.throughput;
        let value = match self {
            Metric::OutputTokensPerS => rate.output_tokens_per_s,
            Metric::RequestsPerS => rate.requests_per_s,
            Metric::TotalTokensPerS => rate.total_tokens_per_s,
            Metric::OutputTokensPerSPerCard => summary.output_tokens_per_s_per_card(),
            Metric::Goodput => summary.slo.as_ref()?.goodput_per_s,
            Metric::ItemsPerS => rate.items_per_s,
            Metric::AudioPerS => rate.audio_s_per_s,
            Metric::SessionsPerHour => summary.sessions.as_ref()?.per_hour,
            _ => {
                let sample = self.distribution(summary)?;
                Some(match self.source() {
                    Source::Quantile(_, p) if p > 0.9 => sample.p99,
                    Source::Quantile(..) => sample.p50,
                    Source::Mean(_) | Source::Rate => sample.mean,
                })
            }
        };
        value.filter(|value| value.is_finite())
    }

    /// Variance of its logarithm by the run's own interval, which is by Student's t.
    pub(crate) fn log_variance(self, summary: &Summary) -> Option<f64> {
        let rate = &summary.throughput;
        let [low, high] = match self {
            Metric::OutputTokensPerS
            | Metric::OutputTokensPerSPerCard
            | Metric::TotalTokensPerS => rate.output_tokens_per_s_interval,
            Metric::RequestsPerS => rate.requests_per_s_interval,
            Metric::ItemsPerS => rate.items_per_s_interval,
            Metric::AudioPerS => rate.audio_s_per_s_interval,
            Metric::Goodput | Metric::SessionsPerHour => None,
            _ => {
                let sample = self.distribution(summary)?;
                match self.source() {
                    Source::Quantile(_, p) if p > 0.9 => sample.p99_interval,
                    Source::Quantile(..) => sample.p50_interval,
                    Source::Mean(_) | Source::Rate => sample.mean_interval,
                }
            }
        }?;
        let half_widths = student_quantile(0.975, WITHIN_DEGREES);
        Some(((high - low) / (high + low) / half_widths).powi(2)).filter(|it| it.is_finite())
    }

    /// The percentile that it is and the requests that it would take, where a run has too few.
    pub fn lacking(self, summary: &Summary) -> Option<(f64, u64)> {
        let percent = self.tail()?;
        Some((percent, self.distribution(summary)?.requests_for(percent)?))
    }

    /// The sample behind a latency.
    pub(crate) fn distribution(self, summary: &Summary) -> Option<Distribution> {
        let latency = &summary.latency;
        match self.column()? {
            Column::Ttft => latency.ttft_ms,
            Column::Tpot => latency.tpot_ms,
            Column::E2e => latency.e2e_ms,
            Column::MaxGap => latency.max_gap_ms,
            Column::Rtf => summary.media?.rtf,
        }
    }

    pub(crate) fn column(self) -> Option<Column> {
        match self.source() {
            Source::Mean(column) | Source::Quantile(column, _) => Some(column),
            Source::Rate => None,
        }
    }

    /// The percentile (in percent) whose least sample it needs.
    pub(crate) fn tail(self) -> Option<f64> {
        match self.source() {
            Source::Quantile(_, p) if p > 0.5 => Some(100.0 * p),
            _ => None,
        }
    }

    pub(crate) fn is_median(self) -> bool {
        matches!(self.source(), Source::Quantile(_, p) if p <= 0.5)
    }

    pub(crate) fn source(self) -> Source {
        match self {
            Metric::OutputTokensPerS
            | Metric::RequestsPerS
            | Metric::TotalTokensPerS
            | Metric::OutputTokensPerSPerCard
            | Metric::Goodput
            | Metric::ItemsPerS
            | Metric::AudioPerS
            | Metric::SessionsPerHour => Source::Rate,
            Metric::TtftMean => Source::Mean(Column::Ttft),
            Metric::TtftP50 => Source::Quantile(Column::Ttft, 0.5),
            Metric::TtftP99 => Source::Quantile(Column::Ttft, 0.99),
            Metric::TpotMean => Source::Mean(Column::Tpot),
            Metric::TpotP50 => Source::Quantile(Column::Tpot, 0.5),
            Metric::TpotP99 => Source::Quantile(Column::Tpot, 0.99),
            Metric::E2eMean => Source::Mean(Column::E2e),
            Metric::E2eP50 => Source::Quantile(Column::E2e, 0.5),
            Metric::E2eP99 => Source::Quantile(Column::E2e, 0.99),
            Metric::MaxGapP99 => Source::Quantile(Column::MaxGap, 0.99),
            Metric::RtfMean => Source::Mean(Column::Rtf),
            Metric::RtfP50 => Source::Quantile(Column::Rtf, 0.5),
            Metric::RtfP99 => Source::Quantile(Column::Rtf, 0.99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::VariantArray;

    #[test]
    fn a_metric_is_found_at_the_place_that_names_it() {
        let summary = inferometer_analysis::fold::testing::MadeUp::closed(4, 200).summary();
        let json = serde_json::to_value(&summary).unwrap();
        let stored = |metric: &&Metric| **metric != Metric::OutputTokensPerSPerCard;
        for metric in Metric::VARIANTS.iter().filter(stored) {
            let path = format!("/{}", metric.into_str().replace('.', "/"));
            let expected = json.pointer(&path).and_then(|value| value.as_f64());
            assert_eq!(metric.of(&summary), expected, "{metric}");
            assert_eq!(metric.into_str().parse(), Ok(*metric));
        }
        assert!("ttft".parse::<Metric>().is_err());
    }

    #[test]
    fn more_throughput_and_less_latency_is_good() {
        assert!(Metric::OutputTokensPerS.more_is_better());
        assert!(Metric::Goodput.more_is_better());
        assert!(!Metric::TtftP99.more_is_better());
    }
}
