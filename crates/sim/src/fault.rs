//! Faults: how the server misbehaves, as one line of text.
//!
//! Two kinds. A *share* befalls some of the requests (`cut=0.5%`, `stall(2s)=1%`; without
//! `=` all of them), drawn from the seed in the order of arrival. A *switch* holds for every
//! request (`role-first`, `tokens-per-chunk=4`). At most one share befalls a request, so
//! that the truth log can name it; only `close` is drawn separately, as it spoils no answer.

use std::{collections::BTreeSet, fmt, num::NonZeroU32, str::FromStr, time::Duration};

use inferometer_catalog::nearest::a_few;
use strum::{EnumString, IntoStaticStr, VariantNames};

use crate::{
    notation::{Exact, Percent, Share, parse_duration, parse_share},
    random::RandomStream,
};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    #[error(
        "unknown fault `{name}`; known are {} (see sim in the manual)",
        nearest(name)
    )]
    Unknown { name: String },
    #[error("fault `{fault}`: expected {expected}")]
    Value {
        fault: String,
        expected: &'static str,
    },
    #[error("the shares of the faults add up to {total}%; leave them at or below 100%")]
    Shares {
        /// Percent.
        total: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Fault {
    Error500,
    Error503,
    Error429,
    /// The connection is reset as the request arrives.
    Refuse,
    SlowHeaders(Duration),
    /// Status 200, some tokens, then an error object as an event.
    InbandError,
    /// The socket closes within an event.
    Cut,
    /// The body ends properly, but in the middle of the answer.
    CutClean,
    /// Status 200 and nothing else.
    Empty,
    /// One long gap in the middle.
    Stall(Duration),
    /// One event holds half of its JSON.
    Malformed,
    /// The JSON that was asked for, or the arguments of a call, lack their end.
    InvalidJson,
    Hang,
}

impl Fault {
    /// The name in the list of faults and in the truth log.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    fn duration_mut(&mut self) -> Option<&mut Duration> {
        match self {
            Fault::SlowHeaders(wait) | Fault::Stall(wait) => Some(wait),
            _ => None,
        }
    }
}

/// What holds for every request.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumString, IntoStaticStr, VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Switch {
    RoleFirst,
    Crlf,
    NoSpace,
    Comments,
    NoDone,
    SplitWrites,
    Http10,
    RequireMaxCompletionTokens,
    /// Answers repeat the words of what the user said last.
    Echo,
    /// Requests whose client has gone hold their slot to the end; with fixed times.
    KeepCancelled,
}

/// What holds for every request and has a value.
const SETTINGS: [&str; 9] = [
    "tokens-per-chunk=N",
    "events-per-write=N",
    "reasoning=N",
    "die-after=N",
    "oom-after=N",
    "garble-above=N",
    "adapter-load=TIME",
    "usage=missing|finish|own|continuous",
    "reject-field=NAME",
];

/// A few names of faults, those nearest to one that is not known first.
fn nearest(name: &str) -> String {
    let forms = forms();
    let names = forms
        .iter()
        .filter_map(|form| form.split(['=', '(']).next());
    a_few(&names.collect::<Vec<_>>(), name)
}

/// Every fault, in the form in which it is written.
fn forms() -> Vec<String> {
    let share = |name: &&str| match *name {
        "slow-headers" | "stall" => format!("{name}(D)=SHARE"),
        name => format!("{name}=SHARE"),
    };
    let others = Switch::VARIANTS.iter().chain(&SETTINGS);
    (Fault::VARIANTS.iter().chain(&["close"]).map(share))
        .chain(others.map(|&form| form.to_owned()))
        .collect()
}

/// Where usage is reported, whether or not the client asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum UsagePlace {
    Missing,
    /// Inside the chunk with the finish reason.
    Finish,
    /// In a chunk of its own with empty choices.
    Own,
    Continuous,
}

/// How the server misbehaves. Parsed from a comma-separated line; the default is a server
/// without faults, and `Display` writes a line that parses to the same value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    shares: Vec<(Fault, Share)>,
    close: Share,
    switches: BTreeSet<Switch>,
    tokens_per_chunk: Option<NonZeroU32>,
    events_per_write: Option<NonZeroU32>,
    pub(crate) reasoning: u32,
    pub(crate) die_after: Option<NonZeroU32>,
    /// The engine runs out of memory at the request after this many.
    pub(crate) oom_after: Option<NonZeroU32>,
    /// Answers have other words where more requests than this are running.
    pub(crate) garble_above: Option<NonZeroU32>,
    /// What the first request of each adapter waits for.
    pub(crate) adapter_load: Option<Duration>,
    /// `None`: as the client asks.
    pub(crate) usage: Option<UsagePlace>,
    pub(crate) reject_fields: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DrawnFaults {
    pub(crate) fault: Option<Fault>,
    /// Whether the server closes the connection after the answer.
    pub(crate) close: bool,
}

impl DrawnFaults {
    /// The name in the truth log.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self.fault {
            Some(fault) => Some(fault.name()),
            None => self.close.then_some("close"),
        }
    }
}

impl Faults {
    /// Whether some of them need a scheduler.
    pub fn need_engine(&self) -> bool {
        self.oom_after.is_some()
    }

    pub(crate) fn has(&self, switch: Switch) -> bool {
        self.switches.contains(&switch)
    }

    pub(crate) fn tokens_per_chunk(&self) -> u32 {
        self.tokens_per_chunk.map_or(1, NonZeroU32::get)
    }

    pub(crate) fn events_per_write(&self) -> u32 {
        self.events_per_write.map_or(1, NonZeroU32::get)
    }

    pub(crate) fn draw(&self, random: &mut RandomStream) -> DrawnFaults {
        let close = random.below(Share::ALL.0.into()) < self.close.0.into();
        let mut rest = random.below(Share::ALL.0.into());
        for &(fault, share) in &self.shares {
            if rest < share.0.into() {
                let fault = Some(fault);
                return DrawnFaults { fault, close };
            }
            rest -= u64::from(share.0);
        }
        DrawnFaults { fault: None, close }
    }

    fn add(&mut self, item: &str) -> Result<(), FaultError> {
        let wrong = |expected| FaultError::Value {
            fault: item.to_owned(),
            expected,
        };
        let (head, value) = match item.split_once('=') {
            Some((head, value)) => (head.trim(), Some(value.trim())),
            None => (item, None),
        };
        let (name, argument) = match head.split_once('(') {
            Some((name, rest)) => {
                let inner = rest.strip_suffix(')');
                let inner = inner.ok_or_else(|| wrong("a closing parenthesis"))?;
                (name.trim(), Some(inner.trim()))
            }
            None => (head, None),
        };
        let share = || {
            let expected = "a share such as 1% or 0.5%, between 0% and 100%";
            parse_share(value).ok_or_else(|| wrong(expected))
        };
        if let Ok(mut fault) = name.parse::<Fault>() {
            match (fault.duration_mut(), argument) {
                (Some(duration), Some(text)) => {
                    *duration = parse_duration(text)
                        .ok_or_else(|| wrong("a duration such as 200ms, 2s or 1m"))?;
                }
                (Some(_), None) => return Err(wrong("a duration, as in stall(2s)=1%")),
                (None, Some(_)) => return Err(wrong(NO_ARGUMENT)),
                (None, None) => {}
            }
            self.shares.push((fault, share()?));
            return Ok(());
        }
        if argument.is_some() && known(name) {
            return Err(wrong(NO_ARGUMENT));
        }
        if let Ok(switch) = name.parse() {
            if value.is_some() {
                return Err(wrong("no value"));
            }
            self.switches.insert(switch);
            return Ok(());
        }
        let count = || {
            let count = parse::<NonZeroU32>(value);
            count
                .map(Some)
                .ok_or_else(|| wrong("a whole number from 1"))
        };
        match name {
            "close" => self.close = share()?,
            "tokens-per-chunk" => self.tokens_per_chunk = count()?,
            "events-per-write" => self.events_per_write = count()?,
            "reasoning" => {
                self.reasoning = parse(value).ok_or_else(|| wrong("a number of tokens"))?;
            }
            "die-after" => self.die_after = count()?,
            "oom-after" => self.oom_after = count()?,
            "garble-above" => self.garble_above = count()?,
            "adapter-load" => {
                let time = value.and_then(parse_duration);
                self.adapter_load = Some(time.ok_or_else(|| wrong("a duration such as 2s"))?);
            }
            "usage" => {
                let place = parse(value);
                self.usage =
                    Some(place.ok_or_else(|| wrong("missing, finish, own or continuous"))?);
            }
            "reject-field" => {
                let field = value.filter(|field| !field.is_empty());
                let field = field.ok_or_else(|| wrong("the name of a field"))?;
                self.reject_fields.push(field.to_owned());
            }
            _ => {
                let name = name.to_owned();
                return Err(FaultError::Unknown { name });
            }
        }
        Ok(())
    }
}

const NO_ARGUMENT: &str = "no argument in parentheses";

fn known(name: &str) -> bool {
    (forms().iter()).any(|form| form.split(['=', '(']).next() == Some(name))
}

fn parse<T: FromStr>(value: Option<&str>) -> Option<T> {
    value?.parse().ok()
}

impl FromStr for Faults {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Faults, FaultError> {
        let mut faults = Faults::default();
        for item in text.split(',').map(str::trim) {
            if !item.is_empty() {
                faults.add(item)?;
            }
        }
        let total: u64 = faults.shares.iter().map(|(_, s)| u64::from(s.0)).sum();
        if total > Share::ALL.0.into() {
            let total = Percent(total).to_string();
            return Err(FaultError::Shares { total });
        }
        Ok(faults)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut items = Vec::new();
        for &(mut fault, share) in &self.shares {
            let share = Percent(share.0.into());
            let name = fault.name();
            items.push(match fault.duration_mut() {
                Some(wait) => format!("{name}({})={share}%", Exact(*wait)),
                None => format!("{name}={share}%"),
            });
        }
        if self.close > Share(0) {
            items.push(format!("close={}%", Percent(self.close.0.into())));
        }
        items.extend(self.switches.iter().map(|switch| {
            let name: &str = switch.into();
            name.to_owned()
        }));
        let reasoning = NonZeroU32::new(self.reasoning);
        for (name, count) in [
            ("tokens-per-chunk", self.tokens_per_chunk),
            ("events-per-write", self.events_per_write),
            ("reasoning", reasoning),
            ("die-after", self.die_after),
            ("oom-after", self.oom_after),
            ("garble-above", self.garble_above),
        ] {
            items.extend(count.map(|count| format!("{name}={count}")));
        }
        let load = self.adapter_load.map(Exact);
        items.extend(load.map(|load| format!("adapter-load={load}")));
        if let Some(place) = self.usage {
            let place: &str = place.into();
            items.push(format!("usage={place}"));
        }
        let rejected = self.reject_fields.iter();
        items.extend(rejected.map(|field| format!("reject-field={field}")));
        f.write_str(&items.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn faults(text: &str) -> Faults {
        text.parse().expect("the spec is right")
    }

    #[test]
    fn every_known_form_parses_and_survives_display() {
        for form in forms() {
            let text = form
                .replace("SHARE", "0.125%")
                .replace("(D)", "(1500ms)")
                .replace("=N", "=7")
                .replace("=TIME", "=1500ms")
                .replace("missing|finish|own|continuous", "finish")
                .replace("NAME", "ignore_eos");
            let parsed = faults(&text);
            assert_ne!(parsed, Faults::default(), "{text}");
            assert_eq!(parsed.to_string(), text);
            assert_eq!(faults(&parsed.to_string()), parsed);
        }
    }

    #[test]
    fn a_long_line_survives_display() {
        let text = "error500=1%,cut=0.5%,stall(2s)=1%,close=50%,role-first,crlf,\
                    tokens-per-chunk=4,usage=missing,reject-field=a,reject-field=b";
        assert_eq!(faults(text).to_string(), text);
        assert_eq!(faults("").to_string(), "");
        assert_eq!(faults(" hang , crlf ,").to_string(), "hang=100%,crlf");
    }

    #[test]
    fn an_unknown_fault_is_named_and_the_nearest_known_ones_are_listed() {
        let error = "cut=1%,staal=2%".parse::<Faults>().unwrap_err();
        let text = error.to_string();
        assert!(text.contains("`staal`; known are stall, "), "{text}");
    }

    #[test]
    fn bad_values_are_refused() {
        let bad = "cut=1|cut=101%|cut=-1%|cut=1.00001%|stall=1%|stall(2 parsecs)=1%|stall(2s=1%|\
                   cut(2s)=1%|crlf=1%|usage=maybe|usage|tokens-per-chunk=0|tokens-per-chunk|\
                   reject-field|die-after=0";
        for text in bad.split('|') {
            let error = text.parse::<Faults>().unwrap_err();
            assert!(matches!(error, FaultError::Value { .. }), "{text}: {error}");
        }
    }

    #[test]
    fn shares_above_the_whole_are_refused() {
        let error = "cut=60%,hang=60%".parse::<Faults>().unwrap_err();
        assert!(error.to_string().contains("120%"), "{error}");
    }

    #[test]
    fn what_is_drawn_repeats_and_follows_the_shares() {
        let faults = faults("error500=10%,cut=20%,close=50%");
        let drawn_of = |seed| -> Vec<DrawnFaults> {
            (0..10_000)
                .map(|n| faults.draw(&mut RandomStream::new(seed, n, Purpose::Fault)))
                .collect()
        };
        let drawn = drawn_of(1);
        assert_eq!(drawn, drawn_of(1));
        assert_ne!(drawn, drawn_of(2));
        let count = |fault| drawn.iter().filter(|drawn| drawn.fault == fault).count();
        assert!((900..1100).contains(&count(Some(Fault::Error500))));
        assert!((1850..2150).contains(&count(Some(Fault::Cut))));
        let closes = drawn.iter().filter(|drawn| drawn.close).count();
        assert!((4700..5300).contains(&closes));
    }
}
