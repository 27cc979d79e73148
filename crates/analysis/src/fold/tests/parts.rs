//! Runs of which a share is kept, and runs that are folded in parts.

use super::*;

/// Answers of a run of which only a share may be kept, beside all of them.
pub(super) fn thinned_and_whole(run: &MadeUp) -> [Summary; 2] {
    let context = RunContext {
        scenario: &run.scenario,
        environment: &run.environment,
        ending: &run.ending,
        lang: Lang::En,
    };
    [1_000, usize::MAX].map(|most| {
        let mut folding = Folding::keeping(most, &context);
        run.records.iter().for_each(|record| folding.add(record));
        assert!(folding.tally.rows.len() <= most);
        let kept = folding.tally.rows.len() + folding.tally.handled.len();
        assert!(most > kept / 2, "{kept} are kept of {most}");
        folding.finish(&context).summary(Lang::En)
    })
}

fn near(thinned: Option<f64>, whole: Option<f64>, share: f64) {
    let (thinned, whole) = thinned.zip(whole).expect("both are known");
    assert!(
        (thinned / whole - 1.0).abs() <= share,
        "{thinned} {whole}, off by more than {share}"
    );
}

#[test]
fn a_run_of_which_a_share_is_kept_says_what_all_of_it_would() {
    let mut steady = MadeUp::closed(16, 9_000);
    for record in &mut steady.records {
        if record.index < 64 {
            record.stage = Stage::Warmup;
        } else if record.index >= 8_900 {
            record.stage = Stage::Hold;
        }
    }
    steady.ending.planned = 8_836;
    steady.ending.steady_window = true;
    steady.ending.measured_from = steady.records[64].sent.unwrap();
    steady.ending.sending_ended = steady.records[8_899].sent.unwrap();
    let burst = MadeUp::closed(16, 9_000);
    let open = MadeUp::open(9_000, |index| 50.0 + 20.0 * noise(index));
    let mut failing = MadeUp::closed(16, 9_000);
    for record in failing.records.iter_mut().step_by(9) {
        record.outcome = Outcome::Failed(Failure {
            phase: Phase::Status,
            class: FailureClass::ServerError,
            detail: "500".to_owned(),
        });
    }
    for run in [steady, burst, open, failing] {
        let [thinned, whole] = thinned_and_whole(&run);
        assert_eq!(thinned.requests, whole.requests);
        assert_eq!(thinned.tokens, whole.tokens);
        assert_eq!(thinned.failures, whole.failures);
        let codes = |summary: &Summary| -> Vec<_> {
            summary.doubts.iter().map(|doubt| doubt.code).collect()
        };
        assert_eq!(codes(&thinned), codes(&whole));
        near(thinned.window_s, whole.window_s, 0.0);
        near(thinned.concurrency.mean, whole.concurrency.mean, 0.005);
        let rates = |summary: &Summary| {
            let rates = summary.throughput;
            [rates.requests_per_s, rates.output_tokens_per_s]
        };
        for (thinned, whole) in rates(&thinned).into_iter().zip(rates(&whole)) {
            near(thinned, whole, 1e-4);
        }
        for of in [
            |summary: &Summary| summary.latency.ttft_ms,
            |summary: &Summary| summary.latency.e2e_ms,
            |summary: &Summary| summary.latency.tpot_ms,
            |summary: &Summary| summary.speed.per_user_tokens_per_s,
        ] {
            let (thinned, whole) = (of(&thinned).unwrap(), of(&whole).unwrap());
            assert_eq!(thinned.n, whole.n);
            for figure in [
                |it: &Distribution| it.mean,
                |it: &Distribution| it.min,
                |it: &Distribution| it.p50,
                |it: &Distribution| it.p99,
                |it: &Distribution| it.max,
            ] {
                near(Some(figure(&thinned)), Some(figure(&whole)), 2e-4);
            }
            let [low, high] = thinned.mean_interval.unwrap();
            assert!(low <= thinned.mean && thinned.mean <= high);
            let whole = whole.mean_interval.map(|[low, high]| high - low).unwrap();
            assert!(high - low >= 0.5 * whole, "a share shows no more than all");
        }
    }
}

/// Folded from parts, each record in the part that `part` says, put together in the order of parts
/// or the other way round.
fn from_parts(run: &MadeUp, most: usize, part: impl Fn(usize) -> usize, back: bool) -> Summary {
    let context = RunContext {
        scenario: &run.scenario,
        environment: &run.environment,
        ending: &run.ending,
        lang: Lang::En,
    };
    let mut parts: Vec<Folding> = Vec::new();
    for (place, record) in run.records.iter().enumerate() {
        let part = part(place);
        while parts.len() <= part {
            parts.push(Folding::keeping(most, &context));
        }
        parts[part].add(record);
    }
    if back {
        parts.reverse();
    }
    let mut whole = Folding::keeping(most, &context);
    parts.into_iter().for_each(|part| whole.merge(part));
    whole.finish(&context).summary(Lang::En)
}

/// A run with something of everything that is gathered: all stages, failures of several kinds,
/// chunks of several tokens, models, sessions, media, checks, outages, numbers that come twice.
fn motley(mut run: MadeUp) -> MadeUp {
    let last = run.records.len();
    for (place, record) in run.records.iter_mut().enumerate() {
        let by = |n: usize| place.is_multiple_of(n);
        record.stage = match place {
            _ if place < 40 => Stage::Warmup,
            _ if place + 60 > last => Stage::Hold,
            _ => Stage::Measured,
        };
        record.session = Some(place as u64 / 6);
        (record.turn, record.turns) = (Some(place as u32 % 6), Some(6));
        record.model = Some(format!("model-{}", place % 23));
        record.model_asked = Some(["a", "b", "c"][place % 3].to_owned());
        record.score = by(2).then_some(noise(place as u64));
        record.differs_at = by(10).then_some(place as u64);
        record.media = by(5).then_some(2);
        record.upload_bytes = by(5).then_some(1_000 + place as u64);
        record.audio_ms = by(5).then_some(900);
        record.valid_json = by(4).then_some(by(8));
        record.connect = by(7).then_some(span(1));
        if let Some(usage) = &mut record.usage {
            usage.cached = by(2).then_some(place as u32 % 90);
        }
        if by(3) {
            record.chunks.tokens = Some(vec![1; record.chunks.len()]);
        } else if by(4) {
            record.chunks.tokens = Some((0..record.chunks.len() as u32).map(|k| k % 4).collect());
        }
        if by(97) {
            record.output_tokens_asked = Some(3);
        }
        if by(11) {
            record.outcome = Outcome::Failed(Failure {
                phase: if by(2) { Phase::Status } else { Phase::Connect },
                class: FailureClass::ServerError,
                detail: format!("sample {place}"),
            });
            record.first_byte = record.first_byte.filter(|_| by(2));
        } else if by(101) {
            record.outcome = Outcome::Cancelled;
        } else if by(103) {
            (record.outcome, record.end) = (Outcome::Cut, None);
        }
        if by(500) {
            record.index = 77;
        }
        if by(211) && record.chunks.len() > 20 {
            let stalled = &mut record.chunks.at[12..];
            stalled.iter_mut().for_each(|at| at.0 += 900_000_000);
        }
    }
    run
}

#[test]
fn parts_of_a_run_say_to_the_last_digit_what_one_stream_says() {
    let with = |toml: &str, run: MadeUp| MadeUp {
        scenario: scenario(toml),
        ..run
    };
    let objectives = "[objectives]\nslo = ['ttft=55ms', 'e2e.p99=400ms']\ncheck = 'exact'\n";
    let closed = format!(
        "{objectives}[load]\nconcurrency = 16\nrequests = 5000\n[work]\ndata = 'q.jsonl'\n"
    );
    let open =
        format!("{objectives}[load]\nrate = 20\nrequests = 5000\n[work]\ndata = 'q.jsonl'\n");
    let mut steady = motley(with(&closed, MadeUp::closed(16, 5_000)));
    steady.ending.steady_window = true;
    steady.ending.measured_from = steady.records[40].sent.unwrap();
    steady.ending.sending_ended = steady.records[4_930].sent.unwrap();
    let burst = motley(with(&closed, MadeUp::closed(16, 5_000)));
    let queue = |index| 50.0 + 20.0 * noise(index);
    let open = motley(with(&open, MadeUp::open(5_000, queue)));
    for run in [steady, burst, open] {
        let json = |summary: &Summary| serde_json::to_string_pretty(summary).unwrap();
        for most in [300, 1_000] {
            let stream = from_parts(&run, most, |_| 0, false);
            assert!(stream.requests.failed > 300 && stream.sessions.is_some());
            assert!(!stream.models.is_empty() && stream.check.is_some() && stream.slo.is_some());
            let stream = json(&stream);
            let hash = |place: usize| (noise(place as u64) * 7.0) as usize;
            for back in [false, true] {
                let found = [
                    from_parts(&run, most, |place| place % 4, back),
                    from_parts(&run, most, |place| place / 1_300, back),
                    from_parts(&run, most, hash, back),
                    // One part is a crowd by itself, the other is not.
                    from_parts(&run, most, |place| usize::from(place > 4_900), back),
                ];
                for parts in &found {
                    assert_eq!(json(parts), stream);
                }
            }
        }
    }
}
