use super::*;
use crate::judge::{
    BetweenPart, DriftEvidence, InFlightEvidence, Lateness, Rounds, Spoiled, StallEvidence,
    StragglerEvidence, UsageEvidence, UsageExample, WaveEvidence, WindowEvidence,
};
use crate::steady::Overload;
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::environment::{EndCause, RankEnding};
use inferometer_core::record::{FailureClass, Phase};
use inferometer_core::summary::Accounts;
use strum::VariantArray as _;

/// Words that a Chinese sentence of this field keeps in English, beside options and codes.
const TECHNICAL: [&str; 35] = [
    "MindIE",
    "config",
    "json",
    "maxIterTimes",
    "rank",
    "API",
    "vLLM",
    "SGLang",
    "nginx",
    "off",
    "client",
    "late",
    "Nagle",
    "uniform",
    "inferometer",
    "doctor",
    "URL",
    "CPU",
    "token",
    "chunk",
    "usage",
    "worker",
    "keep",
    "alive",
    "scenario",
    "auto",
    "prefill",
    "ITL",
    "TTFT",
    "TPOT",
    "ms",
    "CA",
    "include",
    "stream",
    "bye",
];

/// One of each kind, and of each way in which it can be worded.
fn doubts() -> Vec<Doubt> {
    let accounts = Accounts {
        planned: 10,
        ok: 5,
        failed: 2,
        cut: 1,
        unsent: 1,
        ..Accounts::default()
    };
    let whole = Accounts { ok: 6, ..accounts };
    let most = Some((Phase::Status, FailureClass::ServerError, 2));
    let warn = Severity::Warn;
    let mut doubts = vec![
        Doubt::LostRequests {
            accounts,
            duplicates: 2,
        },
        Doubt::LostRequests {
            accounts: whole,
            duplicates: 0,
        },
        Doubt::ShrunkConcurrency {
            configured: 8,
            in_flight: InFlightEvidence {
                seen: 4.0,
                expected: 8.0,
            },
            away_s: None,
        },
        Doubt::ShrunkConcurrency {
            configured: 8,
            in_flight: InFlightEvidence {
                seen: 4.0,
                expected: 8.0,
            },
            away_s: Some(3.0),
        },
        Doubt::UnfilledStreams {
            configured: 512,
            peak: 200,
            requests: 200,
        },
        Doubt::ClientLate {
            at: Lateness::Sending,
            p99_ms: 12.0,
            limit_ms: 5.0,
            spoils: None,
            severity: warn,
        },
        Doubt::ClientLate {
            at: Lateness::Waking,
            p99_ms: 12.0,
            limit_ms: 5.0,
            spoils: Some(Spoiled {
                name: "TTFT",
                median_ms: 719.0,
            }),
            severity: warn,
        },
        Doubt::LostRanks(vec![RankEnding {
            rank: 3,
            sent: 70,
            lost: Some("7".to_owned()),
            ..RankEnding::default()
        }]),
        Doubt::MissingRanks {
            missing: vec![2, 5],
            of: 8,
        },
        Doubt::LateRank {
            rank: 3,
            p99_ms: 12.0,
            limit_ms: 5.0,
        },
        Doubt::ClockError {
            rank: 3,
            error_ms: 12.0,
            limit_ms: 5.0,
        },
        Doubt::ClientPaused {
            longest_ms: 3_000.0,
            limit_ms: 1_000.0,
        },
        Doubt::ClientBusy {
            ceiling_share: Some(0.8),
            cpu_share: Some(0.95),
            severity: warn,
        },
        Doubt::UnmeasuredFailures {
            failed: 4,
            sent: 12,
            most: None,
        },
        Doubt::Failures {
            failed: 2,
            ended: 9,
            most,
            severity: warn,
        },
        Doubt::Failures {
            failed: 2,
            ended: 9,
            most: None,
            severity: warn,
        },
        Doubt::Resent { resent: 2, sent: 9 },
        Doubt::ClosedConnections {
            connected: 9,
            sent: 9,
            resent: 2,
        },
        Doubt::NotStreamed { whole: 7, of: 20 },
        Doubt::Bunched {
            bunched: 15,
            of: 20,
        },
        other_model(&[], Some(("m-2", 8, 9))),
        other_model(&["m-3", "m-4"], None),
        other_model(&["m-3"], Some(("m-3", 9, 9))),
        Doubt::DelayedAck {
            kept_ms: 45.7,
            reference: Reference::Fresh(29.3),
        },
        Doubt::DelayedAck {
            kept_ms: 45.7,
            reference: Reference::Server(29.3),
        },
        Doubt::FewSamples {
            n: 9,
            lacking: vec![(90, 60, "TTFT"), (99, 620, "max gap")],
        },
        Doubt::OutputLengths {
            mean_difference: 0.2,
            off: 3,
            exact: 9,
            by_server: false,
        },
        Doubt::OutputCapped {
            tokens: 128,
            at: 8,
            of: 9,
            by_server: true,
        },
        Doubt::InputLengths {
            differences: [-3.0, 40.0],
            asked_mean: 512.0,
        },
        Doubt::TokenSource {
            retokenized: true,
            without_count: 0,
        },
        Doubt::TokenSource {
            retokenized: true,
            without_count: 3,
        },
        Doubt::TokenSource {
            retokenized: false,
            without_count: 3,
        },
        Doubt::ChunkNotToken {
            tokens_per_chunk: None,
        },
        Doubt::ChunkNotToken {
            tokens_per_chunk: Some(4.0),
        },
        Doubt::ImplausibleUsage(UsageEvidence {
            counted: 100,
            impossible: 2,
            unseen: 0,
            example: Some(UsageExample::Output {
                tokens: 6_400,
                limit: Some(128),
                chunks: 128,
                chars: 512,
            }),
            ..UsageEvidence::default()
        }),
        Doubt::ImplausibleUsage(UsageEvidence {
            counted: 100,
            impossible: 0,
            unseen: 40,
            example: Some(UsageExample::Output {
                tokens: 900,
                limit: None,
                chunks: 5,
                chars: 20,
            }),
            ..UsageEvidence::default()
        }),
        Doubt::ImplausibleUsage(UsageEvidence {
            counted: 100,
            impossible: 1,
            example: Some(UsageExample::Cached {
                cached: 4_000,
                prompt: 256,
            }),
            ..UsageEvidence::default()
        }),
        Doubt::WarmCache {
            synthetic: true,
            cached: 80,
            of: 100,
        },
        Doubt::RepeatedPrompts {
            distinct: 2,
            requests: 100,
        },
        Doubt::NoSteadyState { answers: 100 },
        Doubt::RampInside { over_ms: 40_000.0 },
        Doubt::Drift(DriftEvidence {
            early_ms: 10.0,
            late_ms: 30.0,
        }),
        Doubt::Stragglers(StragglerEvidence {
            idle_ms: 7000.0,
            window_ms: 16_000.0,
            slowest_ms: 8100.0,
            median_ms: 900.0,
        }),
        Doubt::Overload(Overload {
            in_flight: [3.0, 30.0],
            ttft_ms: [90.0, 900.0],
        }),
        Doubt::ShortWindow(WindowEvidence {
            waves: 1.7,
            off_by: Some(0.08),
        }),
        Doubt::FrontEnd {
            tpot: Some(BetweenPart {
                client_ms: 29.7,
                between_ms: 10.2,
            }),
            ttft: Some(BetweenPart {
                client_ms: 1723.0,
                between_ms: 163.0,
            }),
            tokens_per_chunk: Some(1.9),
            cores: Some(0.97),
        },
        Doubt::Stalls {
            client_pause_ms: Some(80.0),
            seen: StallEvidence {
                requests: 9,
                stalled: 2,
                worst_ms: Some(900.0),
                its_median_ms: Some(9.0),
                ..StallEvidence::default()
            },
            factor: 20.0,
        },
        Doubt::AllAtOnce { streams: Some(8) },
        Doubt::AllAtOnce { streams: None },
        Doubt::InStep(WaveEvidence {
            seen: 40.2,
            even: 6.3,
            span_ms: 140.0,
            rounds: None,
        }),
        Doubt::InStep(WaveEvidence {
            seen: 10.2,
            even: 6.3,
            span_ms: 140.0,
            rounds: Some(Rounds {
                share: 0.71,
                round_ms: 1829.0,
            }),
        }),
        Doubt::ServerDied {
            seen: "bye".to_owned(),
        },
        Doubt::NothingMeasured {
            accounts,
            most: None,
        },
    ];
    doubts.extend(
        EndCause::VARIANTS
            .iter()
            .map(|&cause| Doubt::Interrupted { cause }),
    );
    doubts.extend(
        FailureClass::VARIANTS
            .iter()
            .map(|&class| Doubt::NothingMeasured {
                accounts,
                most: Some((Phase::Stream, class, 2)),
            }),
    );
    doubts
}

fn other_model(listed: &[&str], answered: Option<(&str, u64, u64)>) -> Doubt {
    Doubt::OtherModel {
        asked: "m-1".to_owned(),
        listed: listed.iter().map(|name| (*name).to_owned()).collect(),
        answered: answered.map(|(name, count, of)| (name.to_owned(), count, of)),
    }
}

/// Runs of letters that are neither an option nor a code.
fn english_words(text: &str) -> Vec<&str> {
    let codes = FailureClass::VARIANTS.iter().map(|class| class.into_str());
    let codes: Vec<&str> = codes
        .chain(Phase::VARIANTS.iter().map(|phase| phase.into_str()))
        .collect();
    text.split(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c))
        .filter(|word| !word.starts_with("--") && !word.contains('_') && !codes.contains(word))
        .flat_map(|word| word.split('-'))
        .filter(|word| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic()))
        .filter(|word| !TECHNICAL.contains(word))
        .collect()
}

#[test]
fn every_doubt_and_remedy_is_chinese_in_chinese() {
    for doubt in doubts() {
        let (text, remedy) = words(&doubt, Lang::Zh);
        for said in [&text, &remedy] {
            assert!(!said.is_ascii(), "{said}");
            assert_eq!(english_words(said), Vec::<&str>::new(), "{said}");
        }
    }
}

#[test]
fn both_languages_tell_the_same_numbers_and_options() {
    let facts = |text: &str| {
        let mut facts: Vec<String> = text
            .split(|c: char| !c.is_ascii_alphanumeric() && !"-_.+".contains(c))
            .map(|word| word.trim_matches(['.', '-']).to_owned())
            .filter(|word| word.contains(|c: char| c.is_ascii_digit()) || word.contains('_'))
            .collect();
        facts.sort();
        facts
    };
    for doubt in doubts() {
        let (english, chinese) = (words(&doubt, Lang::En), words(&doubt, Lang::Zh));
        assert_eq!(facts(&english.0), facts(&chinese.0), "{}", chinese.0);
        assert_eq!(facts(&english.1), facts(&chinese.1), "{}", chinese.1);
        for said in [&english.0, &english.1] {
            assert!(!said.contains('{'), "no value for a place of: {said}");
        }
    }
}

#[test]
fn no_kind_of_doubt_is_forgotten_here() {
    let told: Vec<DoubtCode> = doubts().iter().map(Doubt::code).collect();
    let forgotten: Vec<&DoubtCode> = (DoubtCode::VARIANTS.iter())
        .filter(|code| !told.contains(code))
        .collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
}
