//! Words about the server's own view and about what made the slowest requests slow.

use inferometer_core::server::{Cause, Evidence};
use inferometer_text::Lang;

inferometer_text::texts! {
    /// What reports say of the server's view.
    pub enum ServerText {
        /// Heading.
        View => "Server's own view", "服务端视角";
        /// Key: requests that run.
        Running => "Running", "运行中的请求";
        /// Key: requests that wait.
        WaitingRequests => "Waiting", "等待中的请求";
        /// Key: share of the KV cache in use.
        KvUse => "KV cache in use", "KV cache 占用";
        /// Key: requests thrown back.
        Preempted => "Preemptions", "抢占次数";
        /// Key: share of prompt tokens found in the prefix cache.
        PrefixHits => "Prefix cache hits", "前缀缓存命中率";
        /// Key: requests in a step.
        BatchSize => "Requests in a step", "每步请求数";
        /// Key: tokens of a step.
        StepTokens => "Tokens in a step", "每步 token 数";
        /// Key: mean times by the server's clock.
        MeanTimes => "Mean times", "平均耗时";
        /// Mean time in the queue, `{time}`.
        QueueMean => "queue {time}", "排队 {time}";
        /// Mean time of the prefill, `{time}`.
        PrefillMean => "prefill {time}", "预填充 {time}";
        /// Mean time of the decode, `{time}`.
        DecodeMean => "decode {time}", "解码 {time}";
        /// `{mean}` and `{max}`.
        MeanAndMax => "mean {mean}, max {max}", "平均 {mean}，最大 {max}";
        /// Share of time in which a device works, `{share}`.
        Busy => "busy: {share}", "利用率：{share}";
        /// Memory in use, `{used}` of `{total}` GiB.
        MemoryOf => "memory: {used} of {total} GiB", "显存：{used}/{total} GiB";
        /// Memory in use, `{used}` GiB.
        Memory => "memory: {used} GiB", "内存：{used} GiB";
        /// Power, `{watts}`.
        Power => "power: {watts} W", "功耗：{watts} W";
        /// Key: the host of the client.
        ClientHost => "Client's host", "客户端主机";
        /// CPU of a host, `{share}`.
        HostCpu => "CPU: {share}", "CPU 占用：{share}";
        /// A part of an explanation: `{share}` and `{time}`.
        ShareAndTime => "{share}, {time}", "占 {share}，{time}";
        /// Key: the engine that was started.
        Engine => "Engine", "引擎";
        /// Time to readiness, `{time}`.
        StartedIn => "ready after {time}", "启动耗时 {time}";
        /// Memory of the weights, `{gib}`.
        Weights => "weights {gib} GiB", "权重 {gib} GiB";
        /// Tokens of the KV cache, `{tokens}`.
        KvTokens => "KV cache of {tokens} tokens", "KV cache 容量 {tokens} token";
        /// Key: the command of the engine.
        Command => "Command", "启动命令";
        /// Heading of an explanation: `{of}`, `{p}`, `{n}`, `{ms}`.
        Slowest => "where the time of the slowest went: {of} at or above p{p} ({n} requests, mean {ms} ms)", "最慢请求的时间去向：{of} 不低于 p{p} 的 {n} 个请求，平均 {ms} ms";
        /// Cause.
        Client => "the client, before sending", "客户端（发送之前）";
        /// Cause.
        Queueing => "queueing in the server", "服务端排队";
        /// Cause.
        Prefill => "prefill", "预填充 prefill";
        /// Cause.
        Decode => "decode at its usual pace", "正常速度的解码 decode";
        /// Cause.
        Interference => "decode stalled by others' prefill", "解码被其他请求的预填充打断";
        /// Cause.
        Preemption => "preemption", "抢占 preemption";
        /// Cause.
        Unknown => "unknown", "未知";
        /// Evidence.
        ServerSilent => "the server said nothing of its queue while these requests were under way", "这些请求进行期间，服务端没有给出任何排队信息";
        /// Evidence: `{slow}`, `{run}`.
        ServerQueue => "by the server's clock, requests that ended together with the slow ones waited {slow} ms; all of the run {run} ms", "按服务端计时，与慢请求同时结束的请求平均排队 {slow} ms，全程平均 {run} ms";
        /// Evidence: `{slow}`, `{run}`.
        ServerPrefill => "by the server's clock, requests that ended together with the slow ones took {slow} ms of prefill; all of the run {run} ms", "按服务端计时，与慢请求同时结束的请求平均预填充 {slow} ms，全程平均 {run} ms";
        /// Evidence: `{share}`, `{n}`.
        Waiting => "somebody was waiting in {share} % of {n} looks at the queue before their first tokens", "首 token 之前查看了 {n} 次队列，其中 {share} % 有请求在等待";
        /// Evidence: `{count}`, `{interfered}`, `{preempted}`, `{ms}`.
        Stalls => "{count} stalls in these answers, the longest {ms} ms: {interfered} while another request's prompt was worked on, {preempted} while other answers went on and the server preempted", "这些回答中有 {count} 次停顿，最长 {ms} ms：{interfered} 次发生在其他请求预填充期间，{preempted} 次发生在服务端抢占且其他回答仍在继续时";
        /// Evidence: `{count}`.
        Preemptions => "the server preempted {count} times in this run", "本次运行中服务端共抢占 {count} 次";
    }
}

/// A cause by its name in a report.
pub fn cause(cause: Cause, lang: Lang) -> &'static str {
    match cause {
        Cause::Client => ServerText::Client,
        Cause::Queueing => ServerText::Queueing,
        Cause::Prefill => ServerText::Prefill,
        Cause::Decode => ServerText::Decode,
        Cause::Interference => ServerText::Interference,
        Cause::Preemption => ServerText::Preemption,
        Cause::Unknown => ServerText::Unknown,
    }
    .text(lang)
}

/// What was seen, in one sentence.
pub fn evidence(evidence: &Evidence, lang: Lang) -> String {
    let ms = |value: f64| format!("{value:.1}");
    match *evidence {
        Evidence::ServerSilent => ServerText::ServerSilent.text(lang).to_owned(),
        Evidence::ServerQueue { slow_ms, run_ms } => {
            ServerText::ServerQueue.with(lang, &[("slow", ms(slow_ms)), ("run", ms(run_ms))])
        }
        Evidence::ServerPrefill { slow_ms, run_ms } => {
            ServerText::ServerPrefill.with(lang, &[("slow", ms(slow_ms)), ("run", ms(run_ms))])
        }
        Evidence::Waiting { share, samples } => ServerText::Waiting.with(
            lang,
            &[
                ("share", format!("{:.0}", share * 100.0)),
                ("n", samples.to_string()),
            ],
        ),
        Evidence::Stalls {
            count,
            interfered,
            preempted,
            longest_ms,
        } => ServerText::Stalls.with(
            lang,
            &[
                ("count", count.to_string()),
                ("interfered", interfered.to_string()),
                ("preempted", preempted.to_string()),
                ("ms", ms(longest_ms)),
            ],
        ),
        Evidence::Preemptions { count } => {
            ServerText::Preemptions.with(lang, &[("count", format!("{count:.0}"))])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_names_its_numbers_in_both_languages() {
        let seen = Evidence::ServerQueue {
            slow_ms: 900.0,
            run_ms: 12.34,
        };
        for lang in [Lang::En, Lang::Zh] {
            let text = evidence(&seen, lang);
            assert!(
                text.contains("900.0") && text.contains("12.3") && !text.contains('{'),
                "{text}"
            );
        }
    }
}
