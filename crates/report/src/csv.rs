//! A run as CSV: a header and one row, with names of columns that do not change, so that rows
//! of many runs can be put under each other.

use crate::run::RunReport;
use inferometer_core::scenario::{Arrival, Shape};
use inferometer_core::summary::{Distribution, SummaryColumns};

/// The run as two lines of RFC 4180, with all figures or those that were chosen.
pub fn render(report: &RunReport<'_>, chosen: Option<&SummaryColumns>) -> String {
    rows(&[(Vec::new(), *report)], chosen)
}

/// Runs under each other, with columns of their own in front.
pub fn rows(
    reports: &[(Vec<(String, String)>, RunReport<'_>)],
    chosen: Option<&SummaryColumns>,
) -> String {
    let mut lines = Vec::new();
    for (own, report) in reports {
        let own = own
            .iter()
            .map(|(name, text)| (field(name), field(&harmless(text))));
        let columns = own.chain(match chosen {
            Some(chosen) => chosen_columns(chosen, report.summary),
            None => columns(report),
        });
        let (names, values): (Vec<String>, Vec<String>) = columns.unzip();
        if lines.is_empty() {
            lines.push(names.join(","));
        }
        lines.push(values.join(","));
    }
    lines.iter().map(|line| format!("{line}\r\n")).collect()
}

/// Figures by the names of `--columns`.
pub(crate) fn chosen_columns(
    chosen: &SummaryColumns,
    summary: &impl serde::Serialize,
) -> Vec<(String, String)> {
    let values = chosen.of(summary).into_iter().map(finite);
    let names = chosen.0.iter().map(ToString::to_string);
    names.zip(values).collect()
}

/// What is not known is empty, never 0.
fn known(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn finite(value: Option<f64>) -> String {
    known(value.filter(|value| value.is_finite()))
}

/// A text that a spreadsheet does not take for a formula.
pub(crate) fn harmless(text: &str) -> String {
    let text = inferometer_text::hostile::printable(text, usize::MAX);
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text
    }
}

/// A field, in quotes where it needs them.
pub(crate) fn field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) || text != text.trim() {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn columns(report: &RunReport<'_>) -> Vec<(String, String)> {
    let mut columns = Columns(Vec::new());
    columns.identity(report);
    columns.load(&report.scenario.load.shape);
    columns.summary(report);
    columns.0
}

/// Names and values, as they stand in a line.
struct Columns(Vec<(String, String)>);

impl Columns {
    fn text(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), field(&harmless(value))));
    }

    fn real(&mut self, name: &str, value: Option<f64>) {
        self.0.push((name.to_owned(), finite(value)));
    }

    fn known(&mut self, name: &str, value: Option<impl ToString>) {
        self.0.push((name.to_owned(), known(value)));
    }

    fn identity(&mut self, report: &RunReport<'_>) {
        let summary = report.summary;
        self.text("label", summary.label.as_deref().unwrap_or_default());
        let tags: Vec<String> = (summary.tags.iter())
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        self.text("tags", &tags.join(";"));
        self.text("started", &report.environment.started);
        self.text("url", &report.environment.server.endpoints.join(" "));
        self.text("model", &report.environment.server.model);
        self.text("api", &report.environment.server.api);
        self.known("streamed", Some(report.scenario.connection.stream));
        self.known("valid", Some(summary.valid));
        let doubts: Vec<&str> = summary
            .doubts
            .iter()
            .map(|doubt| doubt.code.into_str())
            .collect();
        self.text("doubts", &doubts.join(";"));
    }

    fn load(&mut self, shape: &Shape) {
        let (word, rate, arrival, concurrency, cap) = match shape {
            Shape::Closed { concurrency, .. } => ("closed", None, None, Some(*concurrency), None),
            Shape::Open {
                rate,
                arrival,
                max_concurrency,
                ..
            } => ("open", Some(*rate), Some(*arrival), None, *max_concurrency),
            Shape::Replay {
                max_concurrency, ..
            } => ("replay", None, None, None, *max_concurrency),
        };
        self.text("load", word);
        self.known("concurrency", concurrency);
        self.text("rate_per_s", &known(rate));
        self.text(
            "arrival",
            match arrival {
                Some(Arrival::Constant) => "constant",
                Some(Arrival::Poisson) => "poisson",
                Some(Arrival::Gamma(_)) => "gamma",
                None => "",
            },
        );
        self.known("max_concurrency", cap);
    }

    fn summary(&mut self, report: &RunReport<'_>) {
        let summary = report.summary;
        let requests = summary.requests;
        for (name, value) in [
            ("planned", requests.planned),
            ("ok", requests.ok),
            ("failed", requests.failed),
            ("cut", requests.cut),
            ("cancelled", requests.cancelled),
            ("unsent", requests.unsent),
        ] {
            self.known(name, Some(value));
        }
        self.real("window_s", summary.window_s);
        self.real("steady_s", summary.steady_s);
        let throughput = summary.throughput;
        self.real("requests_per_s", throughput.requests_per_s);
        self.interval("requests_per_s", throughput.requests_per_s_interval);
        self.real("input_tokens_per_s", throughput.input_tokens_per_s);
        self.real("output_tokens_per_s", throughput.output_tokens_per_s);
        self.interval(
            "output_tokens_per_s",
            throughput.output_tokens_per_s_interval,
        );
        self.real("total_tokens_per_s", throughput.total_tokens_per_s);
        self.real("input_chars_per_s", throughput.input_chars_per_s);
        self.real("output_chars_per_s", throughput.output_chars_per_s);
        let steady = summary.steady;
        let requests = steady.and_then(|steady| steady.requests_per_s);
        self.real("steady_requests_per_s", requests);
        let tokens = steady.and_then(|steady| steady.output_tokens_per_s);
        self.real("steady_output_tokens_per_s", tokens);
        let concurrency = summary.concurrency;
        self.real("in_flight_mean", concurrency.mean);
        self.known("in_flight_peak", concurrency.peak);
        self.known("tokens_input", summary.tokens.input);
        self.known("tokens_output", summary.tokens.output);
        self.known("tokens_cached", summary.tokens.cached);
        self.text("tokens_source", summary.tokens.source.into_str());
        self.real("chars_per_token", summary.tokens.chars_per_token);
        let (latency, speed) = (&summary.latency, &summary.speed);
        for (name, sample) in [
            ("ttft_ms", &latency.ttft_ms),
            ("ttft_from_sent_ms", &latency.ttft_from_sent_ms),
            ("first_answer_ms", &latency.first_answer_ms),
            ("second_token_ms", &latency.second_token_ms),
            ("tpot_ms", &latency.tpot_ms),
            ("itl_ms", &latency.itl_ms),
            ("inter_chunk_ms", &latency.inter_chunk_ms),
            ("max_gap_ms", &latency.max_gap_ms),
            ("e2e_ms", &latency.e2e_ms),
            ("connect_ms", &latency.connect_ms),
            ("lag_ms", &latency.lag_ms),
            ("cap_wait_ms", &latency.cap_wait_ms),
            ("per_user_tokens_per_s", &speed.per_user_tokens_per_s),
            ("decode_tokens_per_s", &speed.decode_tokens_per_s),
        ] {
            self.sample(name, sample.as_ref());
        }
        self.known("itl_is_per_token", Some(latency.itl_is_per_token));
        let slo = summary.slo.as_ref();
        self.real("attainment", slo.and_then(|slo| slo.attainment));
        self.real("goodput_per_s", slo.and_then(|slo| slo.goodput_per_s));
        self.known("objectives_met", slo.and_then(|slo| slo.met));
        self.real("client_cpu_share", summary.client.cpu_share);
        self.real("client_lag_p99_ms", summary.client.lag_p99_ms);
        self.real("client_pulse_p99_ms", summary.client.pulse_p99_ms);
        self.real("items_per_s", throughput.items_per_s);
        let sessions = summary.sessions.as_ref();
        self.known("sessions_complete", sessions.map(|it| it.complete));
        self.known("sessions_failed", sessions.map(|it| it.failed));
        self.known("sessions_cut", sessions.map(|it| it.cut));
        self.real("sessions_per_hour", sessions.and_then(|it| it.per_hour));
        let job = sessions.map(|it| it.job).unwrap_or_default();
        self.real("job_ms_p50", job.p50_ms);
        self.real("job_ms_p90", job.p90_ms);
        self.real("job_ms_p99", job.p99_ms);
        let jobs = slo.and_then(|slo| slo.jobs);
        self.real("job_attainment", jobs.and_then(|jobs| jobs.attainment));
        let goodput = jobs.and_then(|jobs| jobs.goodput_per_hour);
        self.real("job_goodput_per_hour", goodput);
        let server = summary.server.as_ref();
        let energy = server.and_then(|server| server.energy.as_ref());
        self.real("watts", energy.map(|energy| energy.watts));
        self.real("power_coverage", energy.map(|energy| energy.coverage));
        let joules = energy.and_then(|energy| energy.joules_per_output_token);
        self.real("joules_per_output_token", joules);
        let drafts = server.and_then(|server| server.speculation.as_ref());
        let length = drafts.and_then(|drafts| drafts.accepted_length);
        self.real("draft_accepted_length", length);
        let rate = drafts.and_then(|drafts| drafts.acceptance_rate);
        self.real("draft_acceptance_rate", rate);
        let cost = summary.cost;
        let per_output = cost.and_then(|cost| cost.per_million_output_tokens);
        self.real("cost_per_million_output_tokens", per_output);
        self.real("audio_s_per_s", throughput.audio_s_per_s);
        let media = summary.media.as_ref();
        self.real("audio_s", media.and_then(|media| media.audio_s));
        self.sample("rtf", media.and_then(|media| media.rtf.as_ref()));
        let asked = summary.continuation.as_ref();
        self.known("asked_chars", asked.map(|it| it.asked_chars));
        self.real("chars_mean", asked.and_then(|it| it.chars_mean));
        self.known("refused", asked.map(|it| it.refused));
        self.known("very_short", asked.map(|it| it.very_short));
    }

    fn interval(&mut self, name: &str, interval: Option<[f64; 2]>) {
        self.real(&format!("{name}_low"), interval.map(|[low, _]| low));
        self.real(&format!("{name}_high"), interval.map(|[_, high]| high));
    }

    fn sample(&mut self, name: &str, sample: Option<&Distribution>) {
        self.known(&format!("{name}_n"), sample.map(|sample| sample.n));
        let mut part = |part: &str, value: fn(&Distribution) -> Option<f64>| {
            self.real(&format!("{name}_{part}"), sample.and_then(value));
        };
        part("mean", |sample| Some(sample.mean));
        part("std", |sample| sample.std);
        part("min", |sample| Some(sample.min));
        part("p50", |sample| Some(sample.p50));
        part("p75", |sample| Some(sample.p75));
        part("p90", |sample| Some(sample.p90));
        part("p95", |sample| Some(sample.p95));
        part("p99", |sample| Some(sample.p99));
        part("max", |sample| Some(sample.max));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spreadsheet_takes_no_text_for_a_formula() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "=HYPERLINK(\"x\")"] {
            assert!(harmless(text).starts_with('\''), "{text}");
        }
        assert_eq!(harmless("a=1"), "a=1");
    }

    #[test]
    fn quotes_commas_and_outer_blanks_are_quoted() {
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("say \"no\""), "\"say \"\"no\"\"\"");
        assert_eq!(field(" a"), "\" a\"");
        assert_eq!(field("plain"), "plain");
    }

    #[test]
    fn what_is_not_known_is_empty_and_never_nought() {
        assert_eq!(finite(None), "");
        assert_eq!(finite(Some(f64::NAN)), "");
        assert_eq!(known(Some(0)), "0");
    }
}
