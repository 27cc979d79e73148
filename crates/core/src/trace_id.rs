//! The W3C trace of a request. It follows from the request's id, so that whoever has a record
//! finds what the server's own spans say of it, and a record need not hold one more name.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TraceId(u128);

/// FNV-1a of 128 bits: short, the same everywhere, and scattered enough for the ids of a run.
const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

impl TraceId {
    pub fn of_request(id: &str) -> TraceId {
        let hash = id.bytes().fold(OFFSET, |hash, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(PRIME)
        });
        TraceId(hash)
    }

    /// As OTLP sends it; absent where it is not one.
    pub fn from_bytes(bytes: &[u8]) -> Option<TraceId> {
        let id = u128::from_be_bytes(bytes.try_into().ok()?);
        (id != 0).then_some(TraceId(id))
    }

    /// The header that carries it, with the client's own span as the parent and the wish that the
    /// request be traced.
    pub fn traceparent(self) -> String {
        format!("00-{self}-{:016x}-01", self.span())
    }

    /// The client's own span in it.
    pub fn span(self) -> u64 {
        ((self.0 >> 64) as u64 ^ self.0 as u64).max(1)
    }

    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:032x}", self.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a trace id has 32 hexadecimal digits, not all of them 0")]
pub struct BadTraceId;

impl FromStr for TraceId {
    type Err = BadTraceId;

    fn from_str(text: &str) -> Result<TraceId, BadTraceId> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let id = u128::from_str_radix(text, 16).ok();
        let id = id.filter(|id| digits && *id != 0);
        id.map(TraceId).ok_or(BadTraceId)
    }
}

impl From<TraceId> for String {
    fn from(id: TraceId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for TraceId {
    type Error = BadTraceId;

    fn try_from(text: String) -> Result<TraceId, BadTraceId> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_one_trace_and_others_have_others() {
        let of = TraceId::of_request("1f3a-r7");
        assert_eq!(of, TraceId::of_request("1f3a-r7"));
        assert_ne!(of, TraceId::of_request("1f3a-r8"));
        let header = of.traceparent();
        let parts: Vec<&str> = header.split('-').collect();
        assert_eq!(
            parts.iter().map(|part| part.len()).collect::<Vec<_>>(),
            [2, 32, 16, 2]
        );
        assert_eq!(parts[1].parse(), Ok(of));
        let bytes = u128::from_str_radix(parts[1], 16).unwrap().to_be_bytes();
        assert_eq!(TraceId::from_bytes(&bytes), Some(of));
    }

    #[test]
    fn what_is_no_trace_id_is_refused() {
        for text in [
            "",
            "0",
            &"0".repeat(32),
            &"g".repeat(32),
            &"1".repeat(33),
            "+1234567890123456789012345678901",
        ] {
            assert_eq!(text.parse::<TraceId>(), Err(BadTraceId), "{text}");
        }
        assert_eq!(TraceId::from_bytes(&[1; 8]), None);
        assert_eq!(TraceId::from_bytes(&[0; 16]), None);
    }
}
