//! Doubts about the way to the server: its connections, its streams, its models.

use super::{Case, Doubt, FirstTokenEvidence, Reference};
use inferometer_core::thresholds::Thresholds;

/// How much later than its timer a delayed acknowledgement may show, in milliseconds.
const TIMER_SLACK: [f64; 2] = [-3.0, 8.0];

impl Case<'_> {
    /// A load opens as many connections as it has requests under way at once. More, for most
    /// of the requests, were closed by the server.
    pub(super) fn closed_connections(&self) -> Option<Doubt> {
        let (connected, sent) = (self.summary.requests.connected, self.evidence.sent);
        let peak = self.summary.concurrency.peak.unwrap_or_default();
        let closed = connected.saturating_sub(peak) as f64;
        (closed > self.thresholds.closed_share * sent as f64).then_some(Doubt::ClosedConnections {
            connected,
            sent,
            resent: self.summary.requests.resent,
        })
    }

    pub(super) fn not_streamed(&self) -> Option<Doubt> {
        let wire = &self.evidence.wire;
        let (whole, of) = (wire.whole, wire.streamed);
        let many = whole as f64 > self.thresholds.whole_share * of as f64;
        let mostly = 2 * wire.bunched > of;
        if many {
            Some(Doubt::NotStreamed { whole, of })
        } else {
            mostly.then_some(Doubt::Bunched {
                bunched: wire.bunched,
                of,
            })
        }
    }

    pub(super) fn delayed_ack(&self) -> Option<Doubt> {
        let seen = self.evidence.wire.first_token?;
        delayed_ack(&seen, Reference::Fresh(seen.fresh_ms?), self.thresholds)
    }

    /// Servers with a single model answer to any name.
    pub(super) fn other_model(&self) -> Option<Doubt> {
        let server = &self.context.environment.server;
        let extra = self.context.scenario.work.extra.as_ref();
        let own = extra.and_then(|extra| extra.0.get("model")?.as_str());
        let asked = own.unwrap_or(&server.model);
        if asked.is_empty() {
            return None;
        }
        let is_listed = server.models.iter().any(|name| is_same(asked, name));
        let listed = if is_listed {
            Vec::new()
        } else {
            server.models.clone()
        };
        let models = &self.evidence.wire.models;
        let of = models.iter().map(|model| model.answers).sum();
        let others = (models.iter()).filter(|model| !is_same(asked, &model.name));
        let answered = (others.clone().max_by_key(|model| model.answers)).map(|most| {
            let count = others.map(|model| model.answers).sum();
            (most.name.clone(), count, of)
        });
        (!listed.is_empty() || answered.is_some()).then(|| Doubt::OtherModel {
            asked: asked.to_owned(),
            listed,
            answered,
        })
    }
}

/// First tokens that follow the first byte by just the time of a delayed acknowledgement, and
/// come earlier where that is not waited for.
pub fn delayed_ack(
    seen: &FirstTokenEvidence,
    reference: Reference,
    thresholds: &Thresholds,
) -> Option<Doubt> {
    let [least, most] = TIMER_SLACK.map(|slack| thresholds.delayed_ack_ms + slack);
    let [low, high] = seen.gap_quartiles_ms;
    let (Reference::Fresh(without) | Reference::Server(without)) = reference;
    let cost = seen.kept_ms - without;
    let costs = thresholds.delayed_ack_cost_ms < cost && cost < most;
    (least <= low && high <= most && costs).then_some(Doubt::DelayedAck {
        kept_ms: seen.kept_ms,
        reference,
    })
}

/// Whether two names are of one model: a path or an owner before it, a file's ending, a date or
/// a tag behind it do not matter.
fn is_same(asked: &str, named: &str) -> bool {
    let plain = |name: &str| {
        let name = name.trim_end_matches('/').to_lowercase();
        let name = name
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or_default()
            .to_owned();
        name.strip_suffix(".gguf")
            .map(str::to_owned)
            .unwrap_or(name)
    };
    let (asked, named) = (plain(asked), plain(named));
    let version = named.strip_prefix(&asked);
    let dated = version.is_some_and(|rest| {
        rest.starts_with([':', '@']) || rest.starts_with("-20") || rest.starts_with("-latest")
    });
    asked == named || dated
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::RunContext;
    use crate::fold::fold;
    use crate::fold::testing::{MadeUp, answer, at, scenario};
    use inferometer_core::doubt::{DoubtCode as Code, Severity};
    use inferometer_core::record::Record;
    use inferometer_core::server::ServerSummary;
    use inferometer_text::Lang;
    use std::time::Duration;

    fn whole(record: &mut Record) {
        let last = record.last_token().unwrap();
        record.chunks.at.fill(last);
        record.chunks.same_read.fill(true);
    }

    #[test]
    fn answers_that_come_whole_are_doubted_and_have_no_tpot() {
        let run = MadeUp::closed(8, 128).each(whole);
        assert_eq!(run.doubt(Code::NotStreamed), Some(Severity::Warn));
        let summary = run.summary();
        assert_eq!(summary.latency.tpot_ms, None);
        assert_eq!(summary.speed.decode_tokens_per_s, None);
    }

    #[test]
    fn a_part_of_the_answers_that_comes_whole_is_doubted_and_does_not_pull_tpot_down() {
        let mut run = MadeUp::closed(4, 20);
        run.records.iter_mut().step_by(3).for_each(whole);
        assert_eq!(run.doubt(Code::NotStreamed), Some(Severity::Warn));
        let tpot = run.summary().latency.tpot_ms.unwrap();
        assert_eq!((tpot.n, tpot.min, tpot.p50), (13, 10.0, 10.0));
        // One chunk with many tokens is not a stream either.
        let one = MadeUp::closed(4, 20).each(|record| {
            record.chunks.at.truncate(1);
            record.chunks.same_read.truncate(1);
        });
        assert_eq!(one.doubt(Code::NotStreamed), Some(Severity::Warn));
        assert_eq!(MadeUp::closed(4, 20).doubt(Code::NotStreamed), None);
    }

    #[test]
    fn answers_in_bunches_are_told_and_those_nearly_whole_count_as_whole() {
        let told = |every: usize| {
            let run = MadeUp::closed(4, 20).each(|record| {
                let same = record.chunks.same_read.iter_mut().enumerate();
                same.for_each(|(at, same)| *same = at % every > 0);
            });
            let doubts = run.summary().doubts.into_iter();
            let mut found = doubts.filter(|doubt| doubt.code == Code::NotStreamed);
            found.next().map_or(String::new(), |doubt| doubt.text)
        };
        assert_eq!(told(1), "");
        assert_eq!(told(2), "", "two at once are usual");
        assert!(told(4).contains("in bunches"), "{}", told(4));
        assert!(told(1000).contains("came whole"), "{}", told(1000));
    }

    #[test]
    fn a_model_that_the_server_does_not_list_or_that_did_not_answer_is_doubted() {
        let run = |asked: &str, listed: &[&str], answers: &str| {
            let mut run = MadeUp::closed(4, 40);
            run.environment.server.model = asked.to_owned();
            let listed = listed.iter().map(|name| (*name).to_owned());
            run.environment.server.models = listed.collect();
            run.each(|record| record.model = Some(answers.to_owned()))
                .summary()
                .doubts
                .into_iter()
                .find(|doubt| doubt.code == Code::OtherModel)
                .map(|doubt| doubt.text)
        };
        assert_eq!(run("a", &["a", "b"], "a"), None);
        assert_eq!(run("a", &[], "a"), None);
        let text = run("x", &["a", "b"], "x").unwrap();
        assert!(text.contains("(a, b)") && text.contains("'x'"), "{text}");
        let text = run("a", &["a"], "b").unwrap();
        assert!(text.contains("40 of 40 answers"), "{text}");
        let text = run("x", &["a"], "a").unwrap();
        assert!(text.contains("(a)") && text.contains("by 'a'"), "{text}");
    }

    /// Answers of a server whose first token is ready after `ready` ms, after its head.
    fn held_back(ready: f64, held: bool) -> MadeUp {
        let records = (0..60).map(|index| {
            let sent = index as f64 * 200.0;
            let fresh = index < 4;
            let ttft = if held && !fresh { 45.0 } else { ready };
            let mut record = answer(index, sent, ttft, 8, 5.0);
            record.first_byte = Some(at(sent + 4.0));
            record.connect = fresh.then_some(Duration::from_millis(1));
            record
        });
        let scenario = scenario("[load]\nconcurrency = 1\nrequests = 60");
        MadeUp::of(scenario, records.collect())
    }

    #[test]
    fn first_tokens_that_wait_for_a_delayed_acknowledgement_are_doubted() {
        let code = Code::DelayedAck;
        assert_eq!(held_back(29.0, true).doubt(code), Some(Severity::Warn));
        assert_eq!(held_back(29.0, false).doubt(code), None);
        // A server that takes as long anyway.
        assert_eq!(held_back(44.0, false).doubt(code), None);
        assert_eq!(MadeUp::closed(8, 128).doubt(code), None);
    }

    #[test]
    fn a_proxy_that_holds_back_first_tokens_is_known_by_the_servers_own_metrics() {
        let run = held_back(44.0, false);
        let context = RunContext {
            scenario: &run.scenario,
            environment: &run.environment,
            ending: &run.ending,
            lang: Lang::En,
        };
        let doubted = |ttft: f64| {
            let server = ServerSummary {
                ttft_mean_ms: Some(ttft),
                ..ServerSummary::default()
            };
            let folded = fold(&context, run.records.iter().cloned()).with_server(Some(server));
            let doubts = folded.summary(Lang::En).doubts;
            doubts.iter().any(|doubt| doubt.code == Code::DelayedAck)
        };
        assert!(doubted(28.0));
        assert!(!doubted(43.0));
    }

    #[test]
    fn connections_closed_after_each_answer_are_counted_as_such() {
        let anew = |record: &mut Record| record.connect = Some(Duration::from_micros(300));
        let run = MadeUp::closed(8, 128).each(|record| {
            anew(record);
            record.resent = record.index.is_multiple_of(9);
        });
        assert_eq!(run.doubt(Code::ClosedConnections), Some(Severity::Note));
        assert_eq!(run.doubt(Code::Resent), None);
        assert_eq!(run.summary().requests.connected, 128);
        let mut kept = MadeUp::closed(8, 128);
        kept.records.iter_mut().take(8).for_each(anew);
        assert_eq!(kept.doubt(Code::ClosedConnections), None);
        assert_eq!(kept.summary().requests.connected, 8);
    }

    #[test]
    fn names_of_one_model_differ_in_their_path_and_version_only() {
        for (asked, named) in [
            ("qwen", "Qwen"),
            ("Qwen/Qwen3-8B", "Qwen3-8B"),
            ("qwen3", "/models/qwen3.gguf"),
            ("llama3", "llama3:latest"),
            ("gpt-4o", "gpt-4o-2024-08-06"),
        ] {
            assert!(is_same(asked, named), "{asked} {named}");
        }
        for (asked, named) in [("gpt-4", "gpt-4o"), ("a", "b"), ("qwen3-8b", "qwen3-4b")] {
            assert!(!is_same(asked, named), "{asked} {named}");
        }
    }
}
