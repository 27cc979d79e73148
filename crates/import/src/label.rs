//! Names of metrics as tools and people write them, in English and Chinese.

use crate::quantity::Unit;
use crate::summary::Stat;

/// A sample that numbers may describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sample {
    Ttft,
    SecondToken,
    Tpot,
    Itl,
    MaxGap,
    E2e,
    PerUserSpeed,
    InputLength,
    OutputLength,
}

impl Sample {
    /// Whether its numbers are times.
    pub(crate) fn is_time(self) -> bool {
        !matches!(
            self,
            Sample::PerUserSpeed | Sample::InputLength | Sample::OutputLength
        )
    }
}

/// What a label names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Field {
    Planned,
    Total,
    Ok,
    Failed,
    Window,
    Concurrency,
    /// A bare `Concurrency`, which SGLang prints for the mean.
    BareConcurrency,
    PeakConcurrency,
    Rate,
    InputTokens,
    OutputTokens,
    RequestsPerS,
    InputPerS,
    OutputPerS,
    TotalPerS,
    InputCharsPerS,
    OutputCharsPerS,
    Goodput,
    InputChars,
    AskChars,
    OutputCap,
    /// A number about a sample; the mean where no statistic is named.
    Of(Sample, Option<Stat>),
    /// A percentile of whatever was named before.
    Bare(Stat),
    /// Known, and of no place in a summary.
    Other,
}

impl Field {
    /// Whether it tells of what came out, not of what was asked for.
    pub(crate) fn is_result(self) -> bool {
        matches!(
            self,
            Field::RequestsPerS
                | Field::OutputPerS
                | Field::TotalPerS
                | Field::InputPerS
                | Field::OutputCharsPerS
                | Field::Of(_, _)
                | Field::Ok
        )
    }
}

/// A label taken apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Label {
    pub(crate) field: Field,
    /// Unit written in the label: `TTFT (ms)`, `mean_itl_ms`.
    pub(crate) unit: Option<Unit>,
}

/// Longer texts are prose.
const LONGEST: usize = 80;

/// Reads a label; `None` if it names nothing that is known.
pub(crate) fn label(text: &str) -> Option<Label> {
    let text = text
        .trim()
        .trim_matches(|c| matches!(c, '*' | '`' | '"' | '\''));
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    // As `summary.json` names rates.
    let spelled = text.strip_suffix("_per_s");
    let spelled = spelled.map(|what| format!("{what} per second"));
    let (words, unit) = normalise(spelled.as_deref().unwrap_or(text));
    let has = |part: &str| words.contains(part);
    let any = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    let stat = statistic(&words);
    let of = |sample: Sample| Some(Field::Of(sample, stat));
    let per_second = unit == Some(Unit::TokensPerSecond)
        || any(&[
            "/second",
            "/s",
            "per second",
            "/sec",
            "throughput",
            "吞吐",
            "每秒",
            "速度",
            "speed",
            "tps",
        ]);
    let input = any(&["input", "prompt", "prefill", "输入"]);
    let output = any(&["output", "generat", "completion", "decode", "输出", "生成"]);
    let token = any(&["token", "tok", "词元"]) || unit == Some(Unit::TokensPerSecond);

    let field = if (any(&["率", "accuracy"]) || words.split(' ').any(|word| word == "ratio"))
        && !any(&["速率", "到达率"])
        || any(&[
            "package",
            "lpct",
            "retokenized",
            "accept length",
            "per token latency",
            "latency per",
        ]) {
        Some(Field::Other)
    } else if has("peak") || has("峰值") {
        Some(if any(&["concurren", "并发"]) {
            Field::PeakConcurrency
        } else {
            Field::Other
        })
    } else if has("goodput") {
        Some(Field::Goodput)
    } else if any(&[
        "ttft",
        "first token",
        "首token",
        "首 token",
        "首字",
        "首包",
        "首词",
        "首个token",
        "首个 token",
        "firsttoken",
    ]) {
        of(Sample::Ttft)
    } else if any(&["second token", "ttst"]) {
        of(Sample::SecondToken)
    } else if any(&[
        "tpot",
        "time per output token",
        "每token",
        "每个token",
        "每个 token",
        "单token",
        "每 token",
    ]) {
        of(Sample::Tpot)
    } else if words == "itl"
        || any(&[
            "itl ",
            " itl",
            "inter token",
            "intertoken",
            "token间",
            "token 间",
            "词间",
            "字间",
        ])
    {
        of(Sample::Itl)
    } else if any(&[
        "终端用户",
        "speed per request",
        "per client",
        "per user",
        "单用户",
        "单请求",
        "每用户",
        "generatedtokenspeed",
    ]) {
        of(Sample::PerUserSpeed)
    } else if any(&[
        "qps",
        "rps",
        "req/s",
        "requests/s",
        "requests per second",
        "request per second",
        "request throughput",
        "请求吞吐",
        "每秒请求",
        "每秒处理请求",
    ]) || (unit == Some(Unit::RequestsPerSecond) && !has("rate"))
    {
        Some(Field::RequestsPerS)
    } else if any(&["latency", "e2e", "端到端", "延迟", "时延", "响应时间"]) {
        of(Sample::E2e)
    } else if any(&["request rate", "请求速率", "到达率"]) {
        Some(Field::Rate)
    } else if per_second && any(&["char", "字符"]) {
        match (input, output) {
            (true, _) => Some(Field::InputCharsPerS),
            (_, true) => Some(Field::OutputCharsPerS),
            _ => None,
        }
    } else if per_second
        && !any(&["cpu", "network", "disk", "显存"])
        && (token || input || output || any(&["throughput", "吞吐"]))
    {
        match (input, output) {
            (true, false) => Some(Field::InputPerS),
            (false, true) => Some(Field::OutputPerS),
            _ if any(&["total", "总"]) => Some(Field::TotalPerS),
            (true, true) => None,
            _ => Some(Field::OutputPerS),
        }
    } else if any(&[
        "expected number",
        "num prompts",
        "number of prompts",
        "文本块数",
        "planned requests",
        "期望请求",
        "预期请求",
        "计划请求",
    ]) {
        Some(Field::Planned)
    } else if any(&["success", "succeed", "成功", "completed"])
        || matches!(words.as_str(), "n request" | "returned")
    {
        Some(Field::Ok)
    } else if any(&["failed", "失败"])
        || matches!(words.as_str(), "failures" | "errors" | "error requests")
    {
        Some(Field::Failed)
    } else if any(&[
        "total requests",
        "总请求",
        "请求总数",
        "请求数",
        "number of requests",
        "total request",
    ]) {
        Some(Field::Total)
    } else if any(&[
        "max request concurrency",
        "maximum request concurrency",
        "number of concurrency",
        "max concurrency",
        "并发",
        "parallel",
    ]) {
        Some(Field::Concurrency)
    } else if matches!(
        words.as_str(),
        "concurrency" | "concurrent requests" | "num concurrency"
    ) {
        Some(Field::BareConcurrency)
    } else if any(&[
        "duration",
        "time taken",
        "total time",
        "用时",
        "总时间",
        "总耗时",
        "耗时",
        "time elapsed",
        "timeelapsed",
        "elapsed time",
        "测试时长",
        "elapsed",
    ]) {
        Some(Field::Window)
    } else if any(&["chunk size", "文本块长度"]) {
        Some(Field::InputChars)
    } else if any(&["generate size", "生成文本长度"]) {
        Some(Field::AskChars)
    } else if any(&[
        "max output tokens",
        "max tokens",
        "最大输出",
        "max new tokens",
    ]) {
        Some(Field::OutputCap)
    } else if token
        && any(&[
            "per request",
            "每个请求",
            "平均",
            "average",
            "mean",
            "avg",
            "每请求",
        ])
        && input != output
    {
        of(if input {
            Sample::InputLength
        } else {
            Sample::OutputLength
        })
    } else if token
        && (any(&["total", "总"]) || unit.is_none())
        && input != output
        && any(&["tokens", "token 数", "token数", "词元"])
    {
        Some(if input {
            Field::InputTokens
        } else {
            Field::OutputTokens
        })
    } else {
        Stat::of_word(&words).map(Field::Bare)
    };
    // `Throughput: 3 requests/s` is decided by the unit.
    field.map(|field| match (field, unit) {
        (Field::OutputPerS, Some(Unit::RequestsPerSecond)) => Label {
            field: Field::RequestsPerS,
            unit,
        },
        _ => Label { field, unit },
    })
}

/// Lower case, one space between words, and the unit taken off its end or brackets.
fn normalise(text: &str) -> (String, Option<Unit>) {
    let mut unit = None;
    let mut words = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(['(', '（', '[']) {
        words.push_str(&rest[..open]);
        let inner = rest[open..].trim_start_matches(['(', '（', '[']);
        let close = inner.find([')', '）', ']']).unwrap_or(inner.len());
        match Unit::of_word(&inner[..close]) {
            Some(found) => unit = unit.or(Some(found)),
            // What is no unit may be the name itself: `time_to_first_token(ttft)`.
            None => {
                words.push(' ');
                words.push_str(&inner[..close]);
            }
        }
        words.push(' ');
        rest = inner[close..].trim_start_matches([')', '）', ']']);
    }
    words.push_str(rest);
    let words = words.to_lowercase().replace(['_', '-', '\u{a0}'], " ");
    let mut parts: Vec<&str> = words.split_whitespace().collect();
    if unit.is_none()
        && let Some((last, front)) = parts.split_last()
        && !front.is_empty()
        && let Some(found @ (Unit::Millis | Unit::Seconds | Unit::Micros)) = Unit::of_word(last)
        // `prompt tokens/second` is a rate, `requests per second` too.
        && !front.last().is_some_and(|word| *word == "per" || word.ends_with('/'))
    {
        unit = Some(found);
        parts.pop();
    }
    (parts.join(" "), unit)
}

/// The statistic that a label names.
fn statistic(words: &str) -> Option<Stat> {
    for word in words.split(' ') {
        if let Some(stat) = Stat::of_word(word) {
            return Some(stat);
        }
    }
    // Chinese has no spaces: the percentile or the word stands inside.
    for (part, stat) in [
        ("平均", Stat::Mean),
        ("中位", Stat::Percentile(50.0)),
        ("最大", Stat::Max),
        ("最小", Stat::Min),
        ("标准差", Stat::Std),
    ] {
        if words.contains(part) {
            return Some(stat);
        }
    }
    words.match_indices('p').find_map(|(at, _)| {
        let digits: String = words[at + 1..]
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        let before_is_word = words[..at]
            .chars()
            .next_back()
            .is_some_and(|c| c.is_ascii_alphanumeric());
        if digits.is_empty() || before_is_word {
            None
        } else {
            Stat::of_word(&format!("p{digits}"))
        }
    })
}

#[cfg(test)]
mod tests;
