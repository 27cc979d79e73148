//! What a name in plain words stands for: rules in order, the more special before the more
//! general. What no rule is sure of is not read.

use super::field::{Field, Sample};
use super::rates;
use super::words::Words;
use crate::Stat;

// Names between bars.
const CHANGE: &str = "提升|提高|改善|变化|降低|下降|增幅|涨幅|降幅|增长|相比|较基线|加速比|倍数|\
    对比|差异|change|gain|improv|uplift|speedup|speed up|reduc|δ";
const SOMETHING_ELSE: &str = "package|lpct|retokenized|accept length|accept rate|acceptance|\
    accepted tokens|draft|per token latency|latency per|probe|steady itl|inp.tps";
const TTFT: &str = "ttft|first token|首token|首 token|首字|首包|首词|首个token|首个 token|\
    firsttoken";
const TPOT: &str = "tpot|time per output token|每token|每个token|每个 token|单token|每 token";
const ITL: &str = "itl | itl|inter token|intertoken|token间|token 间|词间|字间";
const PLANNED: &str = "expected number|num prompts|number of prompts|文本块数|planned requests|\
    期望请求|预期请求|计划请求";
const TOTAL: &str = "total requests|总请求|请求总数|请求数|number of requests|total request|\
    request count";
const REJECTED: &str = "reject|refus|拒绝|拒答|被拒";
const TIMED_OUT: &str = "timeout|timed out|time out|超时";
// Whole names: a time limit is called after what exceeds it.
const TIMED_OUT_COUNT: &str = "timeouts|timed out|timed out requests|timeout requests|超时|超时数|\
    超时请求|超时请求数|超时数量|超时次数|请求超时|请求超时数";
const CONCURRENCY: &str = "max request concurrency|maximum request concurrency|\
    number of concurrency|max concurrency|并发|parallel";
/// How a model lies on its cards, which is no load: `tensor_parallel_size`.
const SPREAD_OVER_CARDS: &str = "tensor|pipeline|expert|parallel size|parallel_size|parallel-size";
const BARE_CONCURRENCY: &str = "concurrency|concurrent requests|num concurrency|conc|conc.";
const OUTPUT_CAP: &str = "max output tokens|max tokens|最大输出|max new tokens";
const DURATION: &str = "duration|time taken|total time|用时|总时间|耗时|time elapsed|\
    timeelapsed|测试时长|elapsed";
const CARDS: &str = "gpus|npus|cards|gpu count|npu count|num gpus|num cards|#gpus|# gpus|\
    number of gpus|卡数|卡数量|显卡数|加速卡数|gpu数|gpu数量|gpu 数|npu数|npu数量";

pub(super) fn field(words: &Words<'_>, stat: Option<Stat>) -> Option<Field> {
    if words.text.is_empty() {
        return stat.map(Field::Bare);
    }
    // Tokens of one step of the engine are not those of an answer.
    if words.any("/iter") {
        return None;
    }
    // `P95 TTFT ≤ 2 s` is a condition for something else.
    if is_change(words) || words.any("≤|≥|<=|>=| < | > ") {
        return None;
    }
    let share = share(words);
    // A percentage of anything else does not measure it.
    if share.is_none() && words.has_word("%") {
        return None;
    }
    share
        .or_else(|| aside(words))
        // The largest gap of each request is a sample, of which there are means and percentiles.
        .or_else(|| (words.is("max gap|最大间隔")).then_some(Field::Of(Sample::MaxGap, None)))
        .or_else(|| latency_part(words).map(|sample| Field::Of(sample, stat)))
        .or_else(|| rates::requests(words))
        .or_else(|| whole_latency(words, stat))
        .or_else(|| rates::tokens(words, stat))
        .or_else(|| requests(words))
        .or_else(|| load_and_lengths(words, stat))
        .or_else(|| Stat::of_word(words.text).map(Field::Bare))
}

fn first_named<T, const N: usize>(named: [(bool, T); N]) -> Option<T> {
    let mut named = named.into_iter();
    named.find_map(|(is_named, what)| is_named.then_some(what))
}

/// By how much something is better or worse than something else.
pub(super) fn is_change(words: &Words<'_>) -> bool {
    words.any(CHANGE) || words.has_word("delta|diff|vs|vs.|increase|decrease")
}

/// Shares of requests, which are not counts of them.
fn share(words: &Words<'_>) -> Option<Field> {
    if !words.any("率|比例|percent") && !words.has_word("rate|ratio|%") {
        return None;
    }
    if words.any("success|succeed|成功") {
        Some(Field::OkShare)
    } else if words.any("fail|error|失败|错误") || words.any(REJECTED) || words.any(TIMED_OUT) {
        Some(Field::FailedShare)
    } else {
        None
    }
}

fn aside(words: &Words<'_>) -> Option<Field> {
    let other_share = (words.any("率|accuracy") || words.has_word("ratio"))
        && !words.any("速率|到达率|请求率|吞吐率");
    // The first token of some turns, or an objective for any latency: `SLOs (ms): tpot:11`.
    let other_first = words.any("ttft|first token|首token|首字")
        && words.any("turn|target|goal|目标|阈值|轮")
        || words.has_word("slo|slos") && words.any("ttft|tpot|itl|e2e|latency|时延|延迟|首token");
    // `max_output_tokens_per_s` is the best second.
    let is_best = words.has_word("max") && words.per_second();
    // Tokens of one kind are not all of them.
    let some_tokens =
        words.any("token") && words.has_word("text|vision|image|audio|cached|reasoning");
    if other_share || other_first || some_tokens || is_best || words.any(SOMETHING_ELSE) {
        return Some(Field::Other);
    }
    if words.any("peak|峰值") {
        let is_load = words.any("concurren|并发");
        return Some(if is_load {
            Field::PeakConcurrency
        } else {
            Field::Other
        });
    }
    if words.any("goodput") {
        return Some(Field::Goodput);
    }
    words.any("slo attainment").then_some(Field::Attainment)
}

fn latency_part(words: &Words<'_>) -> Option<Sample> {
    let is_rate = words.per_second();
    let timed = words.unit.is_some_and(|unit| unit.in_ms().is_some());
    // `非首token` holds `首token`.
    if words.any("非首|subsequent token|后续token|后续 token") {
        return (!is_rate).then_some(Sample::Tpot);
    }
    if words.is_time() && !is_rate && !words.total() {
        if words.any("增量|decode|解码") {
            return Some(Sample::Tpot);
        }
        if words.any("全量|prefill") {
            return Some(Sample::Ttft);
        }
    }
    // `speed [1/TPOT]`.
    if words.any("speed|速度|tps|tok/s|tokens/s") && !timed {
        return None;
    }
    first_named([
        (words.any(TTFT), Sample::Ttft),
        (
            words.any("second token|ttst|第二个 token"),
            Sample::SecondToken,
        ),
        (words.any(TPOT), Sample::Tpot),
        (words.is("itl") || words.any(ITL), Sample::Itl),
    ])
}

/// The latency of whole requests. Only words that say no more than that are taken: a latency
/// of chunks, queues or networks is another one.
fn whole_latency(words: &Words<'_>, stat: Option<Stat>) -> Option<Field> {
    const CHINESE: &str = "响应时间|端到端|标准差|中位数|平均值|最大值|最小值|时延|延迟|耗时|\
        用时|时间|请求|响应|推理|整体|平均|最大|最小|中位|分位|总";
    const ENGLISH: &str = "latency|latencies|lat|lat.|e2e|e2el|end|to|end2end|request|requests|\
        response|inference|total|overall|time|of|dev|standard|deviation|percentile|percentiles";
    let named = words.any("latenc|e2e|端到端|延迟|时延|响应时间")
        || words.has_word("lat|lat.")
        // A duration of which there is a mean or a percentile is that of requests.
        || stat.is_some() && words.any("耗时|用时");
    if !named {
        return None;
    }
    let mut rest = words.text.replace('的', "");
    for phrase in CHINESE.split('|') {
        rest = rest.replace(phrase, " ");
    }
    // Of one request, or of all of them after each other.
    if words.is("total latency") {
        return None;
    }
    let plain = rest.split([' ', '/', ':', '：', ',']).all(|word| {
        word.is_empty()
            || ENGLISH.split('|').any(|known| known == word)
            || Stat::of_word(word).is_some()
    });
    plain.then_some(Field::Of(Sample::E2e, stat))
}

fn requests(words: &Words<'_>) -> Option<Field> {
    let ok = words.any("success|succeed|成功|completed") || words.is("n request|returned|ok");
    let failed = words.any("failed|失败|error request") || words.is("failures|errors");
    let total = words.any(TOTAL) || words.is("requests|reqs");
    first_named([
        (words.any(PLANNED), Field::Planned),
        (ok, Field::Ok),
        (failed, Field::Failed),
        (words.any(REJECTED) && !words.is_time(), Field::Rejected),
        (words.is(TIMED_OUT_COUNT), Field::TimedOut),
        (total, Field::Total),
    ])
}

/// Whether a name that was not read may be that of an account of requests: how many were sent, or
/// what became of some of them.
pub(super) fn is_account(words: &Words<'_>) -> bool {
    const ENDED: &str = "success|succeed|fail|error|abort|cancel|drop|成功|失败|错误|丢弃|丢失|取消|\
        中断|异常";
    const SENT: &str = "ok|sent|issued|submitted|attempted|dispatched|lost|missing|发送|发送数|\
        发出|提交|完成";
    let is_time = words.unit.is_some_and(|unit| unit.in_ms().is_some());
    !is_time
        && !is_change(words)
        && (words.any(ENDED) || words.any(REJECTED) || words.any(TIMED_OUT) || words.has_word(SENT))
}

fn load_and_lengths(words: &Words<'_>, stat: Option<Stat>) -> Option<Field> {
    let (input, output) = (words.input(), words.output());
    let named = first_named([
        (
            words.any(CONCURRENCY) && !words.any(SPREAD_OVER_CARDS),
            Field::Concurrency,
        ),
        (words.is(BARE_CONCURRENCY), Field::BareConcurrency),
        (words.any(DURATION), Field::Window),
        (words.is(CARDS), Field::Cards),
        (words.any("chunk size|文本块长度"), Field::InputChars),
        (words.any("generate size|生成文本长度"), Field::AskChars),
        (words.any(OUTPUT_CAP), Field::OutputCap),
    ]);
    if named.is_some() {
        return named;
    }
    if input == output {
        return None;
    }
    let of = |sample| Some(Field::Of(sample, stat));
    let sample = if input {
        Sample::InputLength
    } else {
        Sample::OutputLength
    };
    let token = words.token();
    if token && words.any("per request|每个请求|平均|average|mean|avg|每请求") {
        return of(sample);
    }
    if words.any("length|长度") || words.has_word("len|isl|osl") {
        return match (stat, input) {
            // A limit, not a statistic.
            (Some(Stat::Max), true) => Some(Field::Other),
            (Some(Stat::Max), false) => Some(Field::OutputCap),
            (Some(_), _) => of(sample),
            (None, true) => Some(Field::InputSize),
            (None, false) => Some(Field::OutputSize),
        };
    }
    let counted = token && (words.total() || words.unit.is_none());
    if counted && words.any("tokens|token 数|token数|词元") {
        return Some(if input {
            Field::InputTokens
        } else {
            Field::OutputTokens
        });
    }
    None
}
