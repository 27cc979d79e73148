//! Doubts and their remedies in English.

use super::{millis, percent, share};
use crate::judge::{Doubt, Lateness};
use inferometer_core::environment::EndCause;
use inferometer_core::record::{FailureClass, Phase};

fn most_often(most: Option<(Phase, FailureClass, u64)>) -> String {
    most.map_or(String::new(), |(phase, class, count)| {
        format!("; most often {class} at {phase} ({count})")
    })
}

pub(super) fn text(doubt: &Doubt) -> String {
    match doubt {
        Doubt::LostRequests {
            accounts,
            duplicates,
        } => {
            let found = accounts.ok + accounts.failed + accounts.cut + accounts.unsent;
            if found == accounts.planned && *duplicates == 0 {
                return format!(
                    "{} of {found} planned requests were never sent, though nothing ended the run early",
                    accounts.unsent
                );
            }
            let twice = match duplicates {
                0 => String::new(),
                _ => format!("; {duplicates} records have the number of another"),
            };
            format!(
                "{} requests were planned, but {found} are accounted for ({} ok, {} failed, {} cut, {} unsent){twice}",
                accounts.planned, accounts.ok, accounts.failed, accounts.cut, accounts.unsent
            )
        }
        Doubt::ShrunkConcurrency {
            configured,
            in_flight,
        } => format!(
            "{configured} streams were configured, but while {:.1} requests should have been under way there were {:.1} on average",
            in_flight.expected, in_flight.seen
        ),
        Doubt::UnfilledStreams {
            configured,
            peak,
            requests,
        } => format!(
            "{configured} streams were configured, but at most {peak} were busy at once: {requests} requests do not fill them"
        ),
        Doubt::ClientLate {
            at: Lateness::Sending,
            p99_ms,
            limit_ms,
            ..
        } => format!(
            "the client itself sent late: its lag has a p99 of {}, where {} are allowed",
            millis(*p99_ms),
            millis(*limit_ms)
        ),
        Doubt::ClientLate {
            at: Lateness::Waking,
            p99_ms,
            limit_ms,
            ..
        } => format!(
            "the client did not get its CPU in time: it was woken late by {} at p99, where {} are allowed, and what it received is stamped as late as that",
            millis(*p99_ms),
            millis(*limit_ms)
        ),
        Doubt::ClientBusy {
            ceiling_share,
            cpu_share,
            ..
        } => {
            let reasons: Vec<String> = [
                ceiling_share.map(|s| {
                    format!(
                        "the busiest second needed {} of this host's ceiling",
                        percent(s)
                    )
                }),
                cpu_share.map(|s| format!("a client thread used {} of its core", percent(s))),
            ]
            .into_iter()
            .flatten()
            .collect();
            format!("the client was near its own limit: {}", reasons.join("; "))
        }
        Doubt::Interrupted { cause } => match cause {
            EndCause::StopCondition => "a --stop-when condition ended the run early".to_owned(),
            EndCause::Signal => "the run was interrupted before it was complete".to_owned(),
            EndCause::Watchdog => {
                "nothing moved for too long, or a client thread died, and the run was ended"
                    .to_owned()
            }
            EndCause::Killed | EndCause::Complete | EndCause::Precise => {
                "the run was killed: it has no ending, and its last records may be missing"
                    .to_owned()
            }
        },
        Doubt::Failures {
            failed,
            ended,
            most,
            ..
        } => format!(
            "{failed} of {ended} requests failed ({}){}",
            share(*failed, *ended),
            most_often(*most)
        ),
        Doubt::Resent { resent, sent } => format!(
            "{resent} of {sent} requests ({}) found their kept connection closed and went out again; their latencies count from the second sending",
            share(*resent, *sent)
        ),
        Doubt::FewSamples { n, lacking } => {
            let lacking: Vec<String> = lacking
                .iter()
                .map(|(percentile, least)| format!("p{percentile} (needs {least})"))
                .collect();
            format!(
                "{n} requests are too few for a claim at 99 % confidence about {}",
                lacking.join(", ")
            )
        }
        Doubt::OutputLengths {
            mean_difference,
            off,
            exact,
        } => format!(
            "{off} of {exact} answers do not have the length that was asked for; the mean difference is {}",
            percent(*mean_difference)
        ),
        Doubt::OutputCapped { tokens, at, of } => format!(
            "{at} of {of} answers ({}) were ended by the limit at exactly {tokens} tokens",
            share(*at, *of)
        ),
        Doubt::InputLengths {
            differences: [low, high],
            asked_mean,
        } => format!(
            "the server's prompt counts differ by {low:+.0} to {high:+.0} tokens from the {asked_mean:.0} that were aimed at on average; a chat template would add a small constant"
        ),
        Doubt::TokenSource {
            retokenized,
            without_count,
        } => match (retokenized, without_count) {
            (true, 0) => {
                "the server gave no usage; output tokens were counted from the text after the run"
                    .to_owned()
            }
            (true, n) => format!(
                "the server gave no usage; output tokens were counted from the text after the run, and are unknown for {n} answers"
            ),
            (false, n) => {
                format!("the server gave no usage for {n} answers: their output tokens are unknown")
            }
        },
        Doubt::ChunkNotToken { tokens_per_chunk } => {
            let seen = tokens_per_chunk.map_or("an unknown number of tokens".to_owned(), |n| {
                format!("{n:.2} tokens on average")
            });
            format!("a chunk holds {seen}, so ITL is the gap between chunks, not between tokens")
        }
        Doubt::WarmCache { cached, of } => format!(
            "the server found {} of the prompt tokens in its prefix cache ({cached} of {of}), which the workload did not ask for",
            share(*cached, *of)
        ),
        Doubt::RepeatedPrompts { distinct, requests } => format!(
            "{requests} requests share {distinct} distinct prompts, so a prefix cache can answer most of them"
        ),
        Doubt::NoSteadyState { answers } => {
            format!("throughput, requests under way or TTFT never settled over {answers} answers")
        }
        Doubt::Overload(seen) => format!(
            "the server fell behind the arrivals: over the second half of sending, requests under way rose from {:.1} to {:.1} and TTFT from {} to {}",
            seen.in_flight[0],
            seen.in_flight[1],
            millis(seen.ttft_ms[0]),
            millis(seen.ttft_ms[1])
        ),
        Doubt::Stalls { seen, factor } => {
            let worst = seen.worst_ms.zip(seen.its_median_ms);
            let worst = worst.map_or(String::new(), |(worst, median)| {
                format!(
                    "; the longest took {} in an answer with a median gap of {}",
                    millis(worst),
                    millis(median)
                )
            });
            format!(
                "{} of {} answers ({}) stalled for {factor} times their median gap or more{worst}",
                seen.stalled,
                seen.requests,
                share(seen.stalled, seen.requests)
            )
        }
        Doubt::AllAtOnce { streams } => match streams {
            Some(n) => format!(
                "the first {n} requests were sent together, so TTFT is mostly queueing and the streams may run in waves"
            ),
            None => "all requests were sent at once, so TTFT is mostly queueing".to_owned(),
        },
        Doubt::InStep(waves) => format!(
            "the streams send in waves: within {} around a request {:.1} others were sent, where {:.1} would be if they were spread; TTFT is that of such a wave, and the same load may run without",
            millis(waves.span_ms),
            waves.seen,
            waves.even
        ),
        Doubt::ServerDied { seen } => {
            format!("the server did not answer after the measurement: {seen}")
        }
        Doubt::NothingMeasured { accounts, most } => format!(
            "no request was answered completely ({} failed, {} cut, {} unsent){}",
            accounts.failed,
            accounts.cut,
            accounts.unsent,
            most_often(*most)
        ),
    }
}

pub(super) fn remedy(doubt: &Doubt) -> String {
    let remedy = match doubt {
        Doubt::LostRequests { .. } => {
            "do not use these numbers; run it again, and if it happens again, report it with this run directory"
        }
        Doubt::ShrunkConcurrency { .. } => {
            "look for streams that died or waited in the client; run `inferometer doctor URL`, raise --workers, and check the limit of open files"
        }
        Doubt::UnfilledStreams { configured, .. } => {
            return format!(
                "give --requests {} or more; in a sweep --requests 'concurrency*10'",
                u64::from(*configured) * 10
            );
        }
        Doubt::ClientLate { .. } => {
            "free this host's CPU, measure from a host that does not run the server, lower --rate or raise --workers; `inferometer doctor` states this host's own error"
        }
        Doubt::ClientBusy { .. } => {
            "raise --workers, measure from a larger host, or split the load over several hosts; `inferometer doctor` states this host's ceiling"
        }
        Doubt::Interrupted { cause } => match cause {
            EndCause::StopCondition => {
                "read the numbers as those of the part that ran; leave out --stop-when to measure all of it"
            }
            EndCause::Watchdog => {
                "look for a message of the client on its screen, and at the server's log for the time of the silence; --read-timeout says how long silence may last"
            }
            EndCause::Signal | EndCause::Killed | EndCause::Complete | EndCause::Precise => {
                "run it again to the end; `--config` with the stored scenario repeats it exactly"
            }
        },
        Doubt::Failures { most, .. } | Doubt::NothingMeasured { most, .. } => {
            match most.map(|(_, class, _)| class) {
                Some(class) => failure_remedy(class),
                None => "let requests end: raise --drain or --duration, or lower --output-tokens",
            }
        }
        Doubt::Resent { .. } => {
            "the server closes kept connections: look in its log for a keep-alive limit or for workers that crash"
        }
        Doubt::FewSamples { lacking, .. } => {
            let least = lacking
                .iter()
                .map(|(_, least)| *least)
                .max()
                .unwrap_or_default();
            return format!(
                "send more, as in --requests {least}, or do not quote these percentiles"
            );
        }
        Doubt::OutputLengths { .. } => {
            "check that the server takes ignore_eos or min_tokens (`inferometer doctor URL`), and that --output-tokens fits its context; compare with runs of the same received lengths only"
        }
        Doubt::OutputCapped { .. } => {
            "raise --max-tokens (or --output-tokens) if answers should end by themselves, or ask for an exact length with --ignore-eos"
        }
        Doubt::InputLengths { .. } => {
            "quote the server's counts, or choose --input-tokens so that they come out as wanted"
        }
        Doubt::TokenSource { .. } => {
            "switch usage on in the server (stream_options.include_usage); without it there are no token rates and no TPOT"
        }
        Doubt::ChunkNotToken { .. } => {
            "judge by TPOT, or let the server send one token a chunk or usage in each chunk"
        }
        Doubt::WarmCache { .. } => {
            "run it with --cache-nonce or another --seed, reset the server's prefix cache before the run, or switch it off"
        }
        Doubt::RepeatedPrompts { .. } => {
            "use --input-tokens for synthetic prompts, or a --data file with more lines; keep it only if users really repeat themselves"
        }
        Doubt::NoSteadyState { .. } => {
            "run longer (--requests or --duration), with --warmup of at least one wave; do not quote throughput as what the server sustains"
        }
        Doubt::Overload(_) => {
            "lower --rate; latencies grow with the length of such a run and say nothing about the server"
        }
        Doubt::Stalls { .. } => {
            "read max gap beside ITL; look in the server's log for preemption, long prefills or swapping at those times"
        }
        Doubt::AllAtOnce { streams } => match streams {
            Some(_) => {
                "use --stagger auto with a --warmup, or a time such as --stagger 2s, unless a burst is what you want to measure"
            }
            None => "give a finite --rate, unless a burst is what you want to measure",
        },
        Doubt::InStep(_) => {
            "vary the lengths, as in --output-tokens uniform(64,192), or measure with --rate; compare TTFT only with runs in the same state"
        }
        Doubt::ServerDied { .. } => {
            "read the end of the server's log; start it again and measure with less load"
        }
    };
    remedy.to_owned()
}

fn failure_remedy(class: FailureClass) -> &'static str {
    match class {
        FailureClass::NameNotFound => "check the host name in the URL",
        FailureClass::Refused => {
            "check the URL and its port, and that the server has finished starting"
        }
        FailureClass::Disconnected | FailureClass::CutStream => {
            "read the server's log at the time of the failures, and look for a proxy with a short timeout"
        }
        FailureClass::Network => "check the network between this host and the server",
        FailureClass::TlsFailed => "give the certificate authority with --ca",
        FailureClass::Unauthorized => "give a key with --api-key-env or --api-key-file",
        FailureClass::NotFound => "check the path of the URL, --api and --model",
        FailureClass::ContextExceeded => {
            "lower --input-tokens or --output-tokens to fit the model's context"
        }
        FailureClass::RateLimited => "lower --rate or --concurrency below the server's limit",
        FailureClass::BadRequest => {
            "read the sample body; a field in --extra or the --model may be refused"
        }
        FailureClass::Redirected => "give the address that the server redirects to as the URL",
        FailureClass::ServerError | FailureClass::InBandError => {
            "read the sample body and the server's log, and lower the load until it answers"
        }
        FailureClass::EmptyStream | FailureClass::BadStream => {
            "check --api, and that no proxy changes the stream; --no-stream may tell more"
        }
        FailureClass::ConnectTimeout => {
            "check that the host is reachable, or raise --connect-timeout"
        }
        FailureClass::ReadTimeout => "lower the load, or raise --read-timeout",
        FailureClass::RequestTimeout => "lower the load, or raise --request-timeout",
    }
}
