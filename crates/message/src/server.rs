//! Words about the server's own view and about what made the slowest requests slow.

use inferometer_core::server::{Cause, Evidence};
use inferometer_text::Lang;

inferometer_text::texts! {
    /// What reports say of the server's view.
    pub enum ServerText {
        View => "Server's own view", "服务端视角";
        Running => "Running", "运行中的请求";
        WaitingRequests => "Waiting", "等待中的请求";
        KvUse => "KV cache in use", "KV cache 占用";
        Preempted => "Preemptions", "抢占次数";
        PrefixHits => "Prefix cache hits", "前缀缓存命中率";
        BatchSize => "Requests in a step", "每步请求数";
        StepTokens => "Tokens in a step", "每步 token 数";
        Speculation => "Speculative decoding", "投机解码";
        SpeculationLength =>
            "{length} tokens per step (the one that every step gives included)",
            "每步 {length} 个 token（含每步必得的 1 个）";
        SpeculationRate => "{share} of drafted tokens accepted", "草稿 token 接受率 {share}";
        SpeculationPlaces => "by place in the draft {list}", "按草稿位置 {list}";
        SpeculationGauges =>
            "as the engine itself says of its last batches",
            "取自引擎对其最近批次的统计";
        MeanTimes => "Mean times", "平均耗时";
        QueueMean => "queue {time}", "排队 {time}";
        PrefillMean => "prefill {time}", "预填充 {time}";
        DecodeMean => "decode {time}", "解码 {time}";
        Between => "Between engine and client", "引擎与客户端之间";
        BetweenTtft => "TTFT {time}", "首 token {time}";
        BetweenTpot => "{time} per token", "每 token {time}";
        BetweenE2e => "E2E {time}", "端到端 {time}";
        FrontEndCores => "API server's CPU, of a core", "API 服务进程 CPU（占单核）";
        MeanAndMax => "mean {mean}, max {max}", "平均 {mean}，最大 {max}";
        OfSamples => "{said} (of only {n} samples)", "{said}（仅 {n} 个样本）";
        Busy => "busy: {share}", "利用率：{share}";
        MemoryOf => "memory: {used} of {total} GiB", "显存：{used}/{total} GiB";
        Memory => "memory: {used} GiB", "内存：{used} GiB";
        Power => "power: {watts} W", "功耗：{watts} W";
        Energy => "Energy", "能耗";
        EnergyPower =>
            "{watts} W on {cards} (sampled {share} of the window)",
            "{cards} 共 {watts} W（采样覆盖窗口的 {share}）";
        EnergyCards => "cards {list}", "卡 {list}";
        EnergyPerToken =>
            "{joules} J per output token ({rate} tok/s/W)",
            "每输出 token {joules} J（{rate} tok/s/W）";
        EnergyPerItem => "{joules} J per item", "每条目 {joules} J";
        EnergyPerRequest => "{joules} J per request", "每请求 {joules} J";
        EnergyUnknown =>
            "too little was sampled to divide by it",
            "采样太少，不作折算";
        ClientHost => "Client's host", "客户端主机";
        HostCpu => "CPU: {share}", "CPU 占用：{share}";
        ShareAndTime => "{share}, {time}", "占 {share}，{time}";
        Engine => "Engine", "引擎";
        StartedIn => "ready after {time}", "启动耗时 {time}";
        Weights => "weights {gib} GiB", "权重 {gib} GiB";
        KvTokens => "KV cache of {tokens} tokens", "KV cache 容量 {tokens} token";
        Command => "Command", "启动命令";
        Slowest => "where the slowest requests spent their time: {of} at or above p{p} (requests: {n}, mean {ms} ms)", "最慢请求的时间去向：{of} 不低于 p{p} 的 {n} 个请求，平均 {ms} ms";
        Client => "the client, before sending", "客户端（发送之前）";
        Queueing => "queueing in the server", "服务端排队";
        Prefill => "prefill", "预填充 prefill";
        Decode => "decode at its usual pace", "正常速度的解码 decode";
        Interference => "decode stalled by others' prefill", "解码被其他请求的预填充打断";
        Preemption => "preemption", "抢占 preemption";
        FrontEnd => "between the engine and the client (front end, network)", "引擎与客户端之间（前端、网络）";
        Unknown => "unknown", "未知";
        ServerSilent => "the server reported nothing about its queue while these requests were in flight", "这些请求进行期间，服务端没有给出任何排队信息";
        ServerQueue => "by the server's clock, requests that ended together with the slow ones waited {slow} ms; the whole run: {run} ms", "按服务端计时，与慢请求同时结束的请求平均排队 {slow} ms，全程平均 {run} ms";
        ServerPrefill => "by the server's clock, requests that ended together with the slow ones took {slow} ms of prefill; the whole run: {run} ms", "按服务端计时，与慢请求同时结束的请求平均预填充 {slow} ms，全程平均 {run} ms";
        Waiting => "requests were waiting in {share} % of {n} samples of the queue before their first tokens", "首 token 之前查看了 {n} 次队列，其中 {share} % 有请求在等待";
        Stalls => "{count} stalls in these answers, the longest {ms} ms: {interfered} during another request's prefill, {preempted} while other answers went on and the server preempted", "这些回答中有 {count} 次停顿，最长 {ms} ms：{interfered} 次发生在其他请求预填充期间，{preempted} 次发生在服务端抢占且其他回答仍在继续时";
        Traced => "the server's own traces tell of {count} of these requests", "服务端自身的 trace 给出了其中 {count} 个请求的信息";
        Preemptions => "the server preempted {count} times in this run", "本次运行中服务端共抢占 {count} 次";
    }
}

pub fn cause(cause: Cause, lang: Lang) -> &'static str {
    match cause {
        Cause::Client => ServerText::Client,
        Cause::Queueing => ServerText::Queueing,
        Cause::Prefill => ServerText::Prefill,
        Cause::Decode => ServerText::Decode,
        Cause::Interference => ServerText::Interference,
        Cause::Preemption => ServerText::Preemption,
        Cause::FrontEnd => ServerText::FrontEnd,
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
        Evidence::Traced { requests } => {
            ServerText::Traced.with(lang, &[("count", requests.to_string())])
        }
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
