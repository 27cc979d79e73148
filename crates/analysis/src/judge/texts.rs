//! What doubts say, and their remedies: which text, with which values.

mod requests;
mod table;
#[cfg(test)]
mod tests;

use crate::judge::{BetweenPart, Doubt, Lateness, Reference, UsageExample, WaveEvidence};
use inferometer_core::environment::EndCause;
use inferometer_core::quantile::least_samples;
use inferometer_text::Lang;
use inferometer_text::hostile::printable;
use inferometer_text::punctuation::PunctuationText;
use requests::{failures_remedy, lost, most_often};
use table::DoubtText as Text;

/// Characters of a model's name, and of a list of them.
const LONGEST_NAME: usize = 80;
const LONGEST_LIST: usize = 300;

/// Values for the places of a text and its remedy.
type Values = Vec<(&'static str, String)>;

/// What was seen, and what to do about it.
pub fn words(doubt: &Doubt, lang: Lang) -> (String, String) {
    let (text, remedy, values) = wording(doubt, lang);
    (text.with(lang, &values), remedy.with(lang, &values))
}

fn wording(doubt: &Doubt, lang: Lang) -> (Text, Text, Values) {
    match doubt {
        Doubt::LostRequests {
            accounts,
            duplicates,
        } => {
            let (text, values) = lost(accounts, *duplicates, lang);
            (text, Text::LostRemedy, values)
        }
        Doubt::ShrunkConcurrency {
            configured,
            in_flight,
            away_s,
        } => {
            let mut values = vec![
                ("configured", configured.to_string()),
                ("expected", format!("{:.1}", in_flight.expected)),
                ("seen", format!("{:.1}", in_flight.seen)),
            ];
            match away_s {
                Some(seconds) => {
                    values.push(("away", format!("{seconds:.2} s")));
                    (Text::ShrunkByOutage, Text::OutageRemedy, values)
                }
                None => (Text::Shrunk, Text::ShrunkRemedy, values),
            }
        }
        Doubt::UnfilledStreams {
            configured,
            peak,
            requests,
        } => {
            let values = vec![
                ("configured", configured.to_string()),
                ("peak", peak.to_string()),
                ("requests", requests.to_string()),
                ("least", (u64::from(*configured) * 10).to_string()),
            ];
            (Text::Unfilled, Text::UnfilledRemedy, values)
        }
        Doubt::ClientLate {
            at,
            p99_ms,
            limit_ms,
            spoils,
            ..
        } => {
            let spoils = spoils.map(|spoiled| {
                let values = [
                    ("name", spoiled.name.to_owned()),
                    ("median", millis(spoiled.median_ms)),
                ];
                Text::SpoiledBy.with(lang, &values)
            });
            let values = vec![
                ("p99", millis(*p99_ms)),
                ("limit", millis(*limit_ms)),
                ("spoils", spoils.unwrap_or_default()),
            ];
            let text = match at {
                Lateness::Sending => Text::SentLate,
                Lateness::Waking => Text::WokenLate,
            };
            (text, Text::LateRemedy, values)
        }
        Doubt::ClientPaused {
            longest_ms,
            limit_ms,
        } => {
            let values = vec![
                ("longest", millis(*longest_ms)),
                ("limit", millis(*limit_ms)),
            ];
            (Text::ClientPaused, Text::LateRemedy, values)
        }
        Doubt::ClientBusy {
            ceiling_share,
            cpu_share,
            ..
        } => {
            let reasons = [
                (Text::BusyCeiling, ceiling_share),
                (Text::BusyThread, cpu_share),
            ];
            let reasons: Vec<String> = (reasons.into_iter())
                .filter_map(|(text, share)| Some(text.with(lang, &[("share", percent((*share)?))])))
                .collect();
            let reasons = PunctuationText::Semicolon.join(lang, &reasons);
            (Text::Busy, Text::BusyRemedy, vec![("reasons", reasons)])
        }
        Doubt::Interrupted { cause } => match cause {
            EndCause::StopCondition => (Text::Stopped, Text::StoppedRemedy, vec![]),
            EndCause::Watchdog => (Text::Watchdog, Text::WatchdogRemedy, vec![]),
            EndCause::ServerAway => (Text::ServerAway, Text::DiedRemedy, vec![]),
            EndCause::Signal => (Text::Interrupted, Text::RepeatRemedy, vec![]),
            EndCause::Running => (Text::Running, Text::RunningRemedy, vec![]),
            EndCause::Unwritten => (Text::Unwritten, Text::UnwrittenRemedy, vec![]),
            EndCause::Killed | EndCause::Complete | EndCause::Precise | EndCause::RankLost => {
                (Text::Killed, Text::RepeatRemedy, vec![])
            }
        },
        Doubt::LostRanks(lost) => {
            let named = lost.iter().map(|rank| {
                let why = rank.lost.clone().unwrap_or_default();
                let values = [("rank", rank.rank.to_string()), ("why", why)];
                Text::LostRank.with(lang, &values)
            });
            let named: Vec<String> = named.collect();
            let sent: u64 = lost.iter().map(|rank| rank.sent).sum();
            let values = vec![
                ("ranks", PunctuationText::Semicolon.join(lang, &named)),
                ("sent", sent.to_string()),
            ];
            (Text::LostRanks, Text::LostRanksRemedy, values)
        }
        Doubt::MissingRanks { missing, of } => {
            let missing: Vec<String> = missing.iter().map(u32::to_string).collect();
            let values = vec![("missing", missing.join(", ")), ("of", of.to_string())];
            (Text::MissingRanks, Text::MissingRanksRemedy, values)
        }
        Doubt::ClockError {
            rank,
            error_ms: seen,
            limit_ms,
        }
        | Doubt::LateRank {
            rank,
            p99_ms: seen,
            limit_ms,
        } => {
            let values = vec![
                ("rank", rank.to_string()),
                ("seen", millis(*seen)),
                ("limit", millis(*limit_ms)),
            ];
            match doubt {
                Doubt::ClockError { .. } => (Text::ClockError, Text::ClockErrorRemedy, values),
                _ => (Text::LateRank, Text::LateRemedy, values),
            }
        }
        Doubt::Failures {
            failed,
            ended,
            most,
            ..
        } => {
            let values = vec![
                ("failed", failed.to_string()),
                ("ended", ended.to_string()),
                ("share", share(*failed, *ended)),
                ("most", most_often(*most, lang)),
            ];
            (Text::Failures, failures_remedy(*most), values)
        }
        Doubt::UnmeasuredFailures { failed, sent, most } => {
            let values = vec![
                ("failed", failed.to_string()),
                ("sent", sent.to_string()),
                ("most", most_often(*most, lang)),
            ];
            (Text::UnmeasuredFailures, failures_remedy(*most), values)
        }
        Doubt::Resent { resent, sent } => {
            let values = vec![
                ("resent", resent.to_string()),
                ("sent", sent.to_string()),
                ("share", share(*resent, *sent)),
            ];
            (Text::Resent, Text::ResentRemedy, values)
        }
        Doubt::ClosedConnections {
            connected,
            sent,
            resent,
        } => {
            let values = vec![
                ("connected", connected.to_string()),
                ("sent", sent.to_string()),
                ("resent", resent.to_string()),
            ];
            (Text::Closed, Text::ClosedRemedy, values)
        }
        Doubt::NotStreamed { whole, of } => {
            let values = vec![
                ("whole", whole.to_string()),
                ("of", of.to_string()),
                ("share", share(*whole, *of)),
            ];
            (Text::NotStreamed, Text::NotStreamedRemedy, values)
        }
        Doubt::Bunched { bunched, of } => {
            let values = vec![("bunched", bunched.to_string()), ("of", of.to_string())];
            (Text::Bunched, Text::BunchedRemedy, values)
        }
        Doubt::OtherModel {
            asked,
            listed,
            answered,
        } => other_model(asked, listed, answered.as_ref(), lang),
        Doubt::DelayedAck { kept_ms, reference } => {
            let (text, without) = match reference {
                Reference::Fresh(ms) => (Text::DelayedAck, ms),
                Reference::Server(ms) => (Text::DelayedAckByServer, ms),
            };
            let values = vec![("kept", millis(*kept_ms)), ("without", millis(*without))];
            (text, Text::DelayedAckRemedy, values)
        }
        Doubt::FewSamples { n, lacking } => {
            let most = lacking.iter().map(|(_, requests, _)| *requests).max();
            let percentiles: Vec<String> = (lacking.iter())
                .map(|(rank, least, figure)| {
                    let figure = match *figure {
                        "max gap" => Text::LargestGap.text(lang),
                        figure => figure,
                    };
                    let values = [
                        ("rank", rank.to_string()),
                        ("least", least.to_string()),
                        ("figure", figure.to_owned()),
                    ];
                    // Independent answers of all figures take as many.
                    let is_of_one = least_samples(f64::from(*rank)) != Some(*least);
                    let text = if is_of_one {
                        Text::NeedsFor
                    } else {
                        Text::Needs
                    };
                    text.with(lang, &values)
                })
                .collect();
            let values = vec![
                ("n", n.to_string()),
                (
                    "percentiles",
                    percentiles.join(Text::Enumeration.text(lang)),
                ),
                ("least", most.unwrap_or(*n).to_string()),
            ];
            (Text::FewSamples, Text::FewSamplesRemedy, values)
        }
        Doubt::ImplausibleUsage(seen) => {
            let example = seen.example.map(|example| match example {
                UsageExample::Output {
                    tokens,
                    limit,
                    chunks,
                    chars,
                } => {
                    let none = || Text::NoLimit.text(lang).to_owned();
                    let values = [
                        ("tokens", tokens.to_string()),
                        ("limit", limit.map_or_else(none, |limit| limit.to_string())),
                        ("chunks", chunks.to_string()),
                        ("chars", chars.to_string()),
                    ];
                    Text::UsageExample.with(lang, &values)
                }
                UsageExample::Cached { cached, prompt } => {
                    let values = [
                        ("cached", cached.to_string()),
                        ("prompt", prompt.to_string()),
                    ];
                    Text::CachedExample.with(lang, &values)
                }
            });
            let values = vec![
                ("impossible", seen.impossible.to_string()),
                ("unseen", seen.unseen.to_string()),
                ("of", seen.counted.to_string()),
                ("example", example.unwrap_or_default()),
            ];
            let text = match seen.impossible {
                0 => Text::UnseenTokens,
                _ => Text::ImpossibleUsage,
            };
            (text, Text::UsageRemedy, values)
        }
        Doubt::OutputLengths {
            mean_difference,
            off,
            exact,
            by_server,
        } => {
            let values = vec![
                ("off", off.to_string()),
                ("exact", exact.to_string()),
                ("difference", percent(*mean_difference)),
            ];
            let remedy = if *by_server {
                Text::CutByServerRemedy
            } else {
                Text::OutputLengthsRemedy
            };
            (Text::OutputLengths, remedy, values)
        }
        Doubt::OutputCapped {
            tokens,
            at,
            of,
            by_server,
        } => {
            let values = vec![
                ("at", at.to_string()),
                ("of", of.to_string()),
                ("share", share(*at, *of)),
                ("tokens", tokens.to_string()),
            ];
            let remedy = if *by_server {
                Text::CutByServerRemedy
            } else {
                Text::OutputCappedRemedy
            };
            (Text::OutputCapped, remedy, values)
        }
        Doubt::InputLengths {
            differences: [low, high],
            asked_mean,
        } => {
            let values = vec![
                ("low", format!("{low:+.0}")),
                ("high", format!("{high:+.0}")),
                ("asked_mean", format!("{asked_mean:.0}")),
            ];
            (Text::InputLengths, Text::InputLengthsRemedy, values)
        }
        Doubt::TokenSource {
            retokenized,
            without_count,
        } => {
            let text = match (retokenized, without_count) {
                (true, 0) => Text::Retokenized,
                (true, _) => Text::RetokenizedInPart,
                (false, _) => Text::WithoutCount,
            };
            let values = vec![("n", without_count.to_string())];
            (text, Text::TokenSourceRemedy, values)
        }
        Doubt::ChunkNotToken {
            tokens_per_chunk: Some(n),
        } => {
            let values = vec![("n", format!("{n:.2}"))];
            (Text::ChunkOfTokens, Text::ChunkRemedy, values)
        }
        Doubt::ChunkNotToken {
            tokens_per_chunk: None,
        } => (Text::ChunkUnknown, Text::ChunkRemedy, vec![]),
        Doubt::WarmCache {
            cached,
            of,
            synthetic,
        } => {
            let remedy = if *synthetic {
                Text::WarmCacheRemedy
            } else {
                Text::WarmCacheOfData
            };
            let values = vec![
                ("share", share(*cached, *of)),
                ("cached", cached.to_string()),
                ("of", of.to_string()),
            ];
            (Text::WarmCache, remedy, values)
        }
        Doubt::RepeatedPrompts { distinct, requests } => {
            let values = vec![
                ("requests", requests.to_string()),
                ("distinct", distinct.to_string()),
            ];
            (Text::Repeated, Text::RepeatedRemedy, values)
        }
        Doubt::NoSteadyState { answers } => {
            let values = vec![("answers", answers.to_string())];
            (Text::Unsteady, Text::UnsteadyRemedy, values)
        }
        Doubt::RampInside { over_ms } => {
            let values = vec![("over", millis(*over_ms))];
            (Text::RampInside, Text::RampInsideRemedy, values)
        }
        Doubt::Drift(seen) => {
            let text = if seen.late_ms > seen.early_ms {
                Text::Slowed
            } else {
                Text::Quickened
            };
            let values = vec![
                ("early", millis(seen.early_ms)),
                ("late", millis(seen.late_ms)),
            ];
            (text, Text::DriftRemedy, values)
        }
        Doubt::Stragglers(seen) => {
            let values = vec![
                ("idle", millis(seen.idle_ms)),
                ("share", percent(seen.idle_ms / seen.window_ms)),
                ("slowest", millis(seen.slowest_ms)),
                ("median", millis(seen.median_ms)),
            ];
            (Text::Stragglers, Text::StragglersRemedy, values)
        }
        Doubt::Overload(seen) => {
            let values = vec![
                ("middle", format!("{:.1}", seen.in_flight[0])),
                ("end", format!("{:.1}", seen.in_flight[1])),
                ("early", millis(seen.ttft_ms[0])),
                ("late", millis(seen.ttft_ms[1])),
            ];
            (Text::Overload, Text::OverloadRemedy, values)
        }
        Doubt::ShortWindow(window) => {
            // What is printed as 0.0 % is no difference.
            let off_by = window.off_by.filter(|off_by| *off_by >= 0.0005);
            let off = off_by.map(|off_by| {
                let values = [("off_by", percent(off_by))];
                Text::OffBy.with(lang, &values)
            });
            let values = vec![
                ("waves", format!("{:.1}", window.waves)),
                ("off", off.unwrap_or_default()),
            ];
            (Text::ShortWindow, Text::ShortWindowRemedy, values)
        }
        Doubt::FrontEnd {
            tpot,
            ttft,
            tokens_per_chunk,
            cores,
        } => {
            let said = |text: Text, part: &Option<BetweenPart>| {
                let part = part.as_ref()?;
                let values = [
                    ("between", millis(part.between_ms)),
                    ("client", millis(part.client_ms)),
                ];
                Some(text.with(lang, &values))
            };
            let parts = [
                said(Text::BetweenToken, tpot),
                said(Text::BetweenFirst, ttft),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            let merged = tokens_per_chunk.map(|tokens| {
                let values = [("tokens", format!("{tokens:.1}"))];
                Text::MergedChunks.with(lang, &values)
            });
            let cores = cores.map(|cores| {
                let values = [("share", percent(cores))];
                Text::FrontEndCores.with(lang, &values)
            });
            let values = vec![
                ("parts", PunctuationText::Comma.join(lang, &parts)),
                ("merged", merged.unwrap_or_default()),
                ("cores", cores.unwrap_or_default()),
            ];
            (Text::FrontEnd, Text::FrontEndRemedy, values)
        }
        Doubt::Stalls {
            seen,
            factor,
            client_pause_ms,
        } => {
            let longest = seen.worst_ms.zip(seen.its_median_ms);
            let longest = longest.map(|(worst, median)| {
                let values = [("worst", millis(worst)), ("median", millis(median))];
                Text::LongestStall.with(lang, &values)
            });
            let values = vec![
                ("stalled", seen.stalled.to_string()),
                ("requests", seen.requests.to_string()),
                ("share", share(seen.stalled, seen.requests)),
                ("factor", factor.to_string()),
                ("longest", longest.unwrap_or_default()),
                (
                    "client",
                    client_pause_ms.map_or_else(String::new, |pause| {
                        Text::StalledClient.with(lang, &[("pause", millis(pause))])
                    }),
                ),
            ];
            (Text::Stalls, Text::StallsRemedy, values)
        }
        Doubt::AllAtOnce { streams: Some(n) } => {
            let values = vec![("n", n.to_string())];
            (Text::FirstAtOnce, Text::FirstAtOnceRemedy, values)
        }
        Doubt::AllAtOnce { streams: None } => (Text::AllAtOnce, Text::AllAtOnceRemedy, vec![]),
        Doubt::InStep(WaveEvidence {
            rounds: Some(rounds),
            ..
        }) => {
            let values = vec![
                ("round", millis(rounds.round_ms)),
                ("share", percent(rounds.share)),
            ];
            (Text::InRounds, Text::InRoundsRemedy, values)
        }
        Doubt::InStep(waves) => {
            let values = vec![
                ("span", millis(waves.span_ms)),
                ("seen", format!("{:.1}", waves.seen)),
                ("even", format!("{:.1}", waves.even)),
            ];
            (Text::InStep, Text::InStepRemedy, values)
        }
        Doubt::ServerDied { seen } => (Text::Died, Text::DiedRemedy, vec![("seen", seen.clone())]),
        Doubt::NothingMeasured { accounts, most } => {
            let values = vec![
                ("failed", accounts.failed.to_string()),
                ("cut", accounts.cut.to_string()),
                ("unsent", accounts.unsent.to_string()),
                ("most", most_often(*most, lang)),
            ];
            (Text::Nothing, failures_remedy(*most), values)
        }
    }
}

fn other_model(
    asked: &str,
    listed: &[String],
    answered: Option<&(String, u64, u64)>,
    lang: Lang,
) -> (Text, Text, Values) {
    let mut values = vec![
        ("asked", printable(asked, LONGEST_NAME)),
        ("listed", printable(&listed.join(", "), LONGEST_LIST)),
    ];
    if let Some((named, count, of)) = answered {
        values.push(("named", printable(named, LONGEST_NAME)));
        values.push(("count", count.to_string()));
        values.push(("of", of.to_string()));
    }
    let also = match answered {
        Some(_) if !listed.is_empty() => Text::AlsoOtherModel.with(lang, &values),
        _ => String::new(),
    };
    values.push(("also", also));
    let text = if listed.is_empty() {
        Text::OtherModel
    } else {
        Text::UnlistedModel
    };
    (text, Text::OtherModelRemedy, values)
}

/// A share as a percentage.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 10.0 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

fn share(part: u64, whole: u64) -> String {
    percent(part as f64 / whole.max(1) as f64)
}

fn millis(ms: f64) -> String {
    match ms {
        ms if ms >= 100.0 => format!("{ms:.0} ms"),
        ms if ms >= 10.0 => format!("{ms:.1} ms"),
        ms => format!("{ms:.2} ms"),
    }
}
