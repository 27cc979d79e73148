//! Faults: how the server misbehaves, as one line of text.
//!
//! Two kinds. A *share* befalls some of the requests (`cut=0.5%`, `stall(2s)=1%`; without
//! `=` all of them), drawn from the seed in the order of arrival. A *switch* holds for every
//! request (`role-first`, `tokens-per-chunk=4`). At most one share befalls a request, so
//! that the truth log can name it; only `close` is drawn apart, as it spoils no answer.

use std::{fmt, num::NonZeroU32, str::FromStr, time::Duration};

use crate::{
    draw::Draw,
    notation::{Exact, Percent, Share, parse_duration, parse_share},
};

/// A spec of faults that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// No fault has this name.
    #[error("unknown fault `{name}`; known are {}", KNOWN.join(", "))]
    Unknown { name: String },
    /// The fault exists, but not with this value or argument.
    #[error("fault `{fault}`: expected {expected}")]
    Value {
        fault: String,
        /// What it should look like.
        expected: &'static str,
    },
    /// More than every request would be hit.
    #[error("the shares of the faults add up to {total}%; leave them at or below 100%")]
    Shares {
        /// The sum, in per cent.
        total: String,
    },
}

/// Every fault that the grammar knows, in the form in which it is written.
const KNOWN: &[&str] = &[
    "error500=SHARE",
    "error503=SHARE",
    "error429=SHARE",
    "refuse=SHARE",
    "slow-headers(D)=SHARE",
    "inband-error=SHARE",
    "cut=SHARE",
    "cut-clean=SHARE",
    "empty=SHARE",
    "stall(D)=SHARE",
    "malformed=SHARE",
    "hang=SHARE",
    "close=SHARE",
    "role-first",
    "crlf",
    "no-space",
    "comments",
    "no-done",
    "split-writes",
    "http10",
    "require-max-completion-tokens",
    "tokens-per-chunk=N",
    "events-per-write=N",
    "reasoning=N",
    "die-after=N",
    "oom-after=N",
    "usage=missing|finish|own|continuous",
    "reject-field=NAME",
];

/// What goes wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An HTTP error instead of an answer.
    Status(u16),
    /// The connection is reset as the request arrives.
    Refuse,
    /// The response head comes late.
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
    Hang,
}

impl Fault {
    /// The name in the grammar and in the truth log.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Fault::Status(503) => "error503",
            Fault::Status(429) => "error429",
            Fault::Status(_) => "error500",
            Fault::Refuse => "refuse",
            Fault::SlowHeaders(_) => "slow-headers",
            Fault::InbandError => "inband-error",
            Fault::Cut => "cut",
            Fault::CutClean => "cut-clean",
            Fault::Empty => "empty",
            Fault::Stall(_) => "stall",
            Fault::Malformed => "malformed",
            Fault::Hang => "hang",
        }
    }

    fn duration(self) -> Option<Duration> {
        match self {
            Fault::SlowHeaders(wait) | Fault::Stall(wait) => Some(wait),
            _ => None,
        }
    }

    fn named(name: &str, duration: Option<Duration>) -> Option<Fault> {
        Some(match (name, duration) {
            ("error500", None) => Fault::Status(500),
            ("error503", None) => Fault::Status(503),
            ("error429", None) => Fault::Status(429),
            ("refuse", None) => Fault::Refuse,
            ("slow-headers", Some(wait)) => Fault::SlowHeaders(wait),
            ("inband-error", None) => Fault::InbandError,
            ("cut", None) => Fault::Cut,
            ("cut-clean", None) => Fault::CutClean,
            ("empty", None) => Fault::Empty,
            ("stall", Some(wait)) => Fault::Stall(wait),
            ("malformed", None) => Fault::Malformed,
            ("hang", None) => Fault::Hang,
            _ => return None,
        })
    }
}

/// Where usage is told, whether or not the client asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsagePlace {
    Missing,
    /// Inside the chunk with the finish reason.
    Finish,
    /// In a chunk of its own with empty choices.
    Own,
    Continuous,
}

impl UsagePlace {
    const NAMES: [(&'static str, UsagePlace); 4] = [
        ("missing", UsagePlace::Missing),
        ("finish", UsagePlace::Finish),
        ("own", UsagePlace::Own),
        ("continuous", UsagePlace::Continuous),
    ];

    fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, place)| *place == self);
        found.expect("every place has a name").0
    }
}

/// How the server misbehaves. Parsed from a comma-separated line; the default is a server
/// without faults, and `Display` writes a line that parses to the same value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    shares: Vec<(Fault, Share)>,
    close: Share,
    pub(crate) role_first: bool,
    pub(crate) crlf: bool,
    pub(crate) no_space: bool,
    pub(crate) comments: bool,
    pub(crate) no_done: bool,
    pub(crate) split_writes: bool,
    pub(crate) http10: bool,
    pub(crate) require_max_completion_tokens: bool,
    pub(crate) tokens_per_chunk: NonZeroU32,
    pub(crate) events_per_write: NonZeroU32,
    pub(crate) reasoning: u32,
    pub(crate) die_after: Option<u64>,
    /// The engine is out of memory at the request after so many.
    pub(crate) oom_after: Option<u64>,
    /// `None`: as the client asks.
    pub(crate) usage: Option<UsagePlace>,
    pub(crate) reject_fields: Vec<String>,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults {
            shares: Vec::new(),
            close: Share(0),
            role_first: false,
            crlf: false,
            no_space: false,
            comments: false,
            no_done: false,
            split_writes: false,
            http10: false,
            require_max_completion_tokens: false,
            tokens_per_chunk: NonZeroU32::MIN,
            events_per_write: NonZeroU32::MIN,
            reasoning: 0,
            die_after: None,
            oom_after: None,
            usage: None,
            reject_fields: Vec::new(),
        }
    }
}

/// What was drawn for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) fault: Option<Fault>,
    /// Whether the server closes the connection after the answer.
    pub(crate) close: bool,
}

impl Fate {
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

    /// Draws what befalls a request.
    pub(crate) fn fate(&self, draw: &mut Draw) -> Fate {
        let close = draw.below(Share::ALL.0.into()) < self.close.0.into();
        let mut rest = draw.below(Share::ALL.0.into());
        for &(fault, share) in &self.shares {
            if rest < share.0.into() {
                let fault = Some(fault);
                return Fate { fault, close };
            }
            rest -= u64::from(share.0);
        }
        Fate { fault: None, close }
    }

    fn add(&mut self, item: &str) -> Result<(), FaultError> {
        let value_error = |expected| FaultError::Value {
            fault: item.to_owned(),
            expected,
        };
        let (head, value) = match item.split_once('=') {
            Some((head, value)) => (head.trim(), Some(value.trim())),
            None => (item, None),
        };
        let (name, argument) = match head.split_once('(') {
            Some((name, rest)) => {
                let inner = rest
                    .strip_suffix(')')
                    .ok_or_else(|| value_error("a closing parenthesis"))?;
                (name.trim(), Some(inner.trim()))
            }
            None => (head, None),
        };
        let takes_duration = matches!(name, "stall" | "slow-headers");
        let duration = match argument {
            Some(text) if takes_duration => Some(
                parse_duration(text)
                    .ok_or_else(|| value_error("a duration such as 200ms, 2s or 1m"))?,
            ),
            Some(_) if known(name) => {
                return Err(value_error("no argument in parentheses"));
            }
            None if takes_duration => {
                return Err(value_error("a duration, as in stall(2s)=1%"));
            }
            _ => None,
        };

        if name == "close" {
            self.close = parse_share(value).ok_or_else(|| value_error(A_SHARE))?;
            return Ok(());
        }
        if let Some(fault) = Fault::named(name, duration) {
            let share = parse_share(value).ok_or_else(|| value_error(A_SHARE))?;
            self.shares.push((fault, share));
            return Ok(());
        }
        if let Some(switch) = self.switch(name) {
            if value.is_some() {
                return Err(value_error("no value"));
            }
            *switch = true;
            return Ok(());
        }
        match name {
            "tokens-per-chunk" => {
                self.tokens_per_chunk = parse(value).ok_or_else(|| value_error(A_COUNT))?;
            }
            "events-per-write" => {
                self.events_per_write = parse(value).ok_or_else(|| value_error(A_COUNT))?;
            }
            "reasoning" => {
                self.reasoning = parse(value).ok_or_else(|| value_error("a number of tokens"))?;
            }
            "die-after" => {
                let count: NonZeroU32 = parse(value).ok_or_else(|| value_error(A_COUNT))?;
                self.die_after = Some(u64::from(count.get()));
            }
            "oom-after" => {
                let count: NonZeroU32 = parse(value).ok_or_else(|| value_error(A_COUNT))?;
                self.oom_after = Some(u64::from(count.get()));
            }
            "usage" => {
                let place = UsagePlace::NAMES
                    .iter()
                    .find(|(text, _)| Some(*text) == value);
                let (_, place) =
                    place.ok_or_else(|| value_error("missing, finish, own or continuous"))?;
                self.usage = Some(*place);
            }
            "reject-field" => {
                let field = value.filter(|field| !field.is_empty());
                let field = field.ok_or_else(|| value_error("the name of a field"))?;
                self.reject_fields.push(field.to_owned());
            }
            _ => {
                let name = name.to_owned();
                return Err(FaultError::Unknown { name });
            }
        }
        Ok(())
    }

    fn switch(&mut self, name: &str) -> Option<&mut bool> {
        self.switches_mut()
            .into_iter()
            .find(|(known, _)| *known == name)
            .map(|(_, switch)| switch)
    }

    fn switches_mut(&mut self) -> [(&'static str, &mut bool); 8] {
        [
            ("role-first", &mut self.role_first),
            ("crlf", &mut self.crlf),
            ("no-space", &mut self.no_space),
            ("comments", &mut self.comments),
            ("no-done", &mut self.no_done),
            ("split-writes", &mut self.split_writes),
            ("http10", &mut self.http10),
            (
                "require-max-completion-tokens",
                &mut self.require_max_completion_tokens,
            ),
        ]
    }
}

const A_SHARE: &str = "a share such as 1% or 0.5%, between 0% and 100%";
const A_COUNT: &str = "a whole number from 1";

fn known(name: &str) -> bool {
    KNOWN
        .iter()
        .any(|form| form.split(['=', '(']).next() == Some(name))
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
        for &(fault, share) in &self.shares {
            let share = Percent(share.0.into());
            items.push(match fault.duration() {
                Some(wait) => format!("{}({})={share}%", fault.name(), Exact(wait)),
                None => format!("{}={share}%", fault.name()),
            });
        }
        if self.close > Share(0) {
            items.push(format!("close={}%", Percent(self.close.0.into())));
        }
        let mut copy = self.clone();
        for (name, on) in copy.switches_mut() {
            if *on {
                items.push(name.to_owned());
            }
        }
        if self.tokens_per_chunk > NonZeroU32::MIN {
            items.push(format!("tokens-per-chunk={}", self.tokens_per_chunk));
        }
        if self.events_per_write > NonZeroU32::MIN {
            items.push(format!("events-per-write={}", self.events_per_write));
        }
        if self.reasoning > 0 {
            items.push(format!("reasoning={}", self.reasoning));
        }
        if let Some(count) = self.die_after {
            items.push(format!("die-after={count}"));
        }
        if let Some(count) = self.oom_after {
            items.push(format!("oom-after={count}"));
        }
        if let Some(place) = self.usage {
            items.push(format!("usage={}", place.name()));
        }
        for field in &self.reject_fields {
            items.push(format!("reject-field={field}"));
        }
        f.write_str(&items.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Purpose;

    fn faults(text: &str) -> Faults {
        text.parse().expect("the spec is right")
    }

    #[test]
    fn every_known_form_parses_and_survives_display() {
        for form in KNOWN {
            let text = form
                .replace("SHARE", "0.125%")
                .replace("(D)", "(1500ms)")
                .replace("=N", "=7")
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
    fn an_unknown_fault_is_named_and_the_known_ones_are_listed() {
        let error = "cut=1%,explode=2%".parse::<Faults>().unwrap_err();
        let text = error.to_string();
        assert!(text.contains("`explode`"), "{text}");
        assert!(text.contains("stall(D)=SHARE"), "{text}");
        assert!(text.contains("role-first"), "{text}");
    }

    #[test]
    fn bad_values_are_refused() {
        for text in [
            "cut=1",
            "cut=101%",
            "cut=-1%",
            "cut=1.00001%",
            "stall=1%",
            "stall(2 parsecs)=1%",
            "stall(2s=1%",
            "cut(2s)=1%",
            "crlf=1%",
            "usage=maybe",
            "usage",
            "tokens-per-chunk=0",
            "tokens-per-chunk",
            "reject-field",
            "die-after=0",
        ] {
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
    fn fates_repeat_and_follow_the_shares() {
        let faults = faults("error500=10%,cut=20%,close=50%");
        let fates = |seed| -> Vec<Fate> {
            (0..10_000)
                .map(|n| faults.fate(&mut Draw::new(seed, n, Purpose::Fault)))
                .collect()
        };
        let drawn = fates(1);
        assert_eq!(drawn, fates(1));
        assert_ne!(drawn, fates(2));
        let count = |fault| drawn.iter().filter(|fate| fate.fault == fault).count();
        assert!((900..1100).contains(&count(Some(Fault::Status(500)))));
        assert!((1850..2150).contains(&count(Some(Fault::Cut))));
        let closes = drawn.iter().filter(|fate| fate.close).count();
        assert!((4700..5300).contains(&closes));
    }
}
