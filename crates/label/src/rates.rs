//! Names of what happens per second: requests, tokens and characters, of the server, of one
//! user or of one card.

use super::field::{Field, Sample};
use super::words::{Scope, Words};
use crate::Stat;
use crate::quantity::Unit;

/// Requests/s, as they were offered or as they were answered.
pub(super) fn requests(words: &Words<'_>) -> Option<Field> {
    const ARRIVALS: &str = "request rate|arrival rate|请求速率|请求率|到达率|到达速率";
    const ANSWERS: &str = "qps|rps|req/s|requests/s|requests per second|request per second|\
        request throughput|请求吞吐|每秒请求|每秒处理请求";
    const OFFERED: &str = "target|offered|configured|injected|目标|设定|设置|配置|发压|注入|施压";
    let arrivals = words.any(ARRIVALS) || words.is("rate|速率");
    let answers = words.any(ANSWERS) || words.unit == Some(Unit::RequestsPerSecond);
    if !arrivals && !answers {
        return None;
    }
    // One user's or one card's share of them has no place.
    if words.scope() != Scope::Server {
        return Some(Field::Other);
    }
    let came_out = words.any("achieved|actual|measured|实际|实测");
    let is_offered = arrivals && !came_out || words.any(OFFERED);
    Some(if is_offered {
        Field::Rate
    } else {
        Field::RequestsPerS
    })
}

/// Tokens/s or characters/s.
pub(super) fn tokens(words: &Words<'_>, stat: Option<Stat>) -> Option<Field> {
    if !words.per_second() || words.any("cpu|network|disk|显存") {
        return None;
    }
    let (input, output) = (words.input(), words.output());
    if words.any("char|字符") || words.unit == Some(Unit::CharsPerSecond) {
        return match (input, output) {
            (true, _) => Some(Field::InputCharsPerS),
            (_, true) => Some(Field::OutputCharsPerS),
            _ if words.unit.is_some() => Some(Field::OutputCharsPerS),
            _ => None,
        };
    }
    match words.scope() {
        Scope::Server => of_server(words),
        Scope::User if input => Some(Field::Other),
        Scope::User if words.any("decode|解码|tpot") => {
            Some(Field::Of(Sample::DecodeSpeed, stat))
        }
        Scope::User => Some(Field::Of(Sample::PerUserSpeed, stat)),
        Scope::Card if input || words.total() => None,
        Scope::Card => Some(Field::OutputPerCard),
    }
}

fn of_server(words: &Words<'_>) -> Option<Field> {
    let (input, output) = (words.input(), words.output());
    let throughput = words.throughput();
    if !words.token() && !input && !output && !throughput {
        return None;
    }
    let speed = !throughput && words.any("速度|speed");
    match (input, output) {
        (true, false) => Some(Field::InputPerS),
        (false, _) if words.total() && !output => Some(Field::TotalPerS),
        (false, true) if words.any("decode|解码") && !throughput => {
            Some(Field::Speed(Sample::DecodeSpeed))
        }
        (false, _) if speed => Some(Field::Speed(Sample::PerUserSpeed)),
        (false, _) => Some(Field::OutputPerS),
        (true, true) => words.total().then_some(Field::TotalPerS),
    }
}
