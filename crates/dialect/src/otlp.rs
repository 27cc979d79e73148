//! A run for OpenTelemetry: a span for each request and histograms of the measured ones, as OTLP in
//! protobuf, with the names of the conventions for generative AI. The spans are those that servers
//! were told as the parents of their own.

mod protobuf;

use inferometer_core::environment::Environment;
use inferometer_core::record::{Outcome, Record};
use inferometer_core::scenario::Scenario;
use inferometer_core::trace_id::TraceId;
use inferometer_core::units::Offset;
use inferometer_text::hostile::{KEPT_CHARS, printable};
use protobuf::Message;

/// Spans of one message: some collectors refuse bodies of more than a few MB.
const MOST_SPANS: usize = 2_000;
const SECONDS: [f64; 19] = [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0,
];
const TOKENS: [f64; 12] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
];

/// A run and the wall time of its origin, in nanoseconds since 1970.
pub struct Exported<'a> {
    pub records: &'a [Record],
    pub scenario: &'a Scenario,
    pub environment: &'a Environment,
    pub origin_ns: u64,
    /// What tells it from other runs.
    pub name: &'a str,
}

impl Exported<'_> {
    /// Messages for `/v1/traces`.
    pub fn traces(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.records.chunks(MOST_SPANS).map(|records| {
            let spans = records.iter().filter_map(|record| self.span(record));
            let scope = scope().messages(2, spans);
            let of_resource = Message::default().message(1, self.resource());
            Message::default()
                .message(1, of_resource.message(2, scope))
                .0
        })
    }

    /// The message for `/v1/metrics`.
    pub fn metrics(&self) -> Vec<u8> {
        let measured = || {
            self.records
                .iter()
                .filter(|it| it.is_measured() && it.is_done())
        };
        let seconds = |values: Vec<std::time::Duration>| -> Vec<f64> {
            values.into_iter().map(|it| it.as_secs_f64()).collect()
        };
        let tokens = |of: fn(&Record) -> Option<u32>| -> Vec<f64> {
            measured().filter_map(of).map(f64::from).collect()
        };
        let operation = "gen_ai.client.operation";
        let metrics = [
            self.histogram(
                &format!("{operation}.duration"),
                "s",
                &SECONDS,
                [(None, seconds(measured().filter_map(Record::e2e).collect()))],
            ),
            self.histogram(
                &format!("{operation}.time_to_first_chunk"),
                "s",
                &SECONDS,
                [(None, seconds(measured().filter_map(Record::ttft).collect()))],
            ),
            self.histogram(
                &format!("{operation}.time_per_output_chunk"),
                "s",
                &SECONDS,
                [(None, seconds(measured().flat_map(Record::gaps).collect()))],
            ),
            self.histogram(
                "gen_ai.client.token.usage",
                "{token}",
                &TOKENS,
                [
                    (Some("input"), tokens(Record::input_tokens)),
                    (Some("output"), tokens(Record::output_tokens)),
                ],
            ),
        ];
        let scope = scope().messages(2, metrics.into_iter().flatten());
        let of_resource = Message::default().message(1, self.resource());
        Message::default()
            .message(1, of_resource.message(2, scope))
            .0
    }

    fn resource(&self) -> Message {
        let attributes = [
            ("service.name", "inferometer"),
            ("service.version", &self.environment.inferometer),
            ("inferometer.run", self.name),
        ];
        Message::default().messages(
            1,
            attributes.map(|(name, text)| attribute(name, words(text))),
        )
    }

    /// What all requests share.
    fn shared(&self) -> Vec<Message> {
        let server = &self.environment.server;
        let url = self.scenario.connection.urls.first();
        let host = url
            .and_then(|url| url.split_once("://"))
            .map(|(_, rest)| rest);
        let host = host
            .and_then(|rest| rest.split('/').next())
            .unwrap_or_default();
        let mut all = vec![
            attribute("gen_ai.operation.name", words(self.operation())),
            attribute("gen_ai.request.model", words(&server.model)),
        ];
        if let Some(software) = &server.software {
            all.push(attribute("gen_ai.provider.name", words(software)));
        }
        match host.rsplit_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok() => {
                all.push(attribute("server.address", words(name)));
                let port = port.parse::<u64>().unwrap_or_default();
                all.push(attribute("server.port", Message::default().number(3, port)));
            }
            _ if !host.is_empty() => all.push(attribute("server.address", words(host))),
            _ => {}
        }
        all
    }

    fn operation(&self) -> &'static str {
        match self.environment.server.api.as_str() {
            "completions" | "generate" => "text_completion",
            "embeddings" => "embeddings",
            _ => "chat",
        }
    }

    /// The span of a request that was sent.
    fn span(&self, record: &Record) -> Option<Message> {
        const KIND_CLIENT: u64 = 3;
        const STATUS_ERROR: u64 = 2;
        let trace = TraceId::of_request(&record.id);
        let began = record.sent.or(record.start())?;
        let ended = record.completed().or(record.last_token()).unwrap_or(began);
        let at = |offset: Offset| self.origin_ns.saturating_add(offset.0);
        let model = &self.environment.server.model;
        let mut span = Message::default()
            .bytes(1, &trace.to_bytes())
            .bytes(2, &trace.span().to_be_bytes())
            .text(
                5,
                &printable(&format!("{} {model}", self.operation()), KEPT_CHARS),
            )
            .number(6, KIND_CLIENT)
            .fixed(7, at(began))
            .fixed(8, at(ended))
            .messages(9, self.shared());
        let stage: &str = record.stage.into();
        span = span.message(9, attribute("inferometer.stage", words(stage)));
        for (name, tokens) in [
            ("gen_ai.usage.input_tokens", record.input_tokens()),
            ("gen_ai.usage.output_tokens", record.output_tokens()),
        ] {
            if let Some(tokens) = tokens {
                let value = Message::default().number(3, tokens.into());
                span = span.message(9, attribute(name, value));
            }
        }
        if let Some(ttft) = record.ttft_from_sent() {
            let value = Message::default().double(4, ttft.as_secs_f64());
            span = span.message(9, attribute("gen_ai.response.time_to_first_chunk", value));
        }
        if let Some(first) = record.first_token() {
            let event = Message::default()
                .fixed(1, at(first))
                .text(2, "first token");
            span = span.message(11, event);
        }
        // What the client ended itself is no error of the server.
        let (error, ended) = match &record.outcome {
            Outcome::Done => (None, None),
            Outcome::Failed(failure) => (Some(failure.class.into_str()), None),
            Outcome::Cancelled => (None, Some("cancelled")),
            Outcome::Cut => (None, Some("cut")),
        };
        if let Some(ended) = ended {
            span = span.message(9, attribute("inferometer.outcome", words(ended)));
        }
        Some(match error {
            Some(error) => span
                .message(9, attribute("error.type", words(error)))
                .message(
                    15,
                    Message::default().text(2, error).number(3, STATUS_ERROR),
                ),
            None => span,
        })
    }

    /// A histogram of everything that was measured, with a point for each kind; absent without a
    /// value.
    fn histogram<const KINDS: usize>(
        &self,
        name: &str,
        unit: &str,
        ends: &[f64],
        kinds: [(Option<&str>, Vec<f64>); KINDS],
    ) -> Option<Message> {
        const CUMULATIVE: u64 = 2;
        let last = self.records.iter().filter_map(Record::completed).max();
        let now = self.origin_ns.saturating_add(last.map_or(0, |it| it.0));
        let known = kinds.into_iter().filter(|(_, values)| !values.is_empty());
        let points: Vec<Message> = known
            .map(|(kind, values)| {
                let mut counts = vec![0_u64; ends.len() + 1];
                for value in &values {
                    counts[ends.partition_point(|end| end < value)] += 1;
                }
                let kind = kind.map(|kind| attribute("gen_ai.token.type", words(kind)));
                Message::default()
                    .fixed(2, self.origin_ns)
                    .fixed(3, now)
                    .fixed(4, values.len() as u64)
                    .double(5, values.iter().sum())
                    .packed(6, counts.into_iter())
                    .packed(7, ends.iter().map(|end| end.to_bits()))
                    .messages(9, self.shared())
                    .messages(9, kind)
            })
            .collect();
        if points.is_empty() {
            return None;
        }
        let histogram = Message::default().messages(1, points).number(2, CUMULATIVE);
        let metric = Message::default().text(1, name).text(3, unit);
        Some(metric.message(9, histogram))
    }
}

fn scope() -> Message {
    Message::default().message(1, Message::default().text(1, "inferometer"))
}

fn attribute(name: &str, value: Message) -> Message {
    Message::default().text(1, name).message(2, value)
}

fn words(text: &str) -> Message {
    Message::default().text(1, &printable(text, KEPT_CHARS))
}
