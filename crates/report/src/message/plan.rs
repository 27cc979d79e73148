//! What `plan` says.

inferometer_text::texts! {
    /// Texts of memory answers, calibrations and predictions.
    pub enum PlanText {
        /// Heading of a memory answer.
        Memory => "Memory of one card", "单卡显存";
        /// Column: the engine.
        Engine => "engine", "推理引擎";
        /// Column: the device.
        Device => "device", "设备";
        /// Column: how many cards share the model.
        Cards => "cards", "卡数";
        /// Part: weights.
        Weights => "weights", "权重";
        /// Part: activations.
        Activations => "activations", "激活";
        /// Part: CUDA graphs.
        Graphs => "graphs", "CUDA 图";
        /// Part: context, libraries, driver.
        System => "system", "系统";
        /// Part: the cache.
        KvCache => "KV cache", "KV 缓存";
        /// Axis of a chart: engine and device.
        EngineOnDevice => "Engine and card", "推理引擎与设备";
        /// Part: left alone.
        Unused => "unused", "未用";
        /// Row: the card.
        Total => "total", "总计";
        /// Unit of rows.
        Gib => "GiB", "GiB";
        /// Row: bytes that a token takes.
        KvPerToken => "KV per token, KiB", "每 token KV，KiB";
        /// Row: what blogs say.
        Popular => "by the popular formula, KiB", "常见公式算得，KiB";
        /// Row: the ratio.
        Factor => "overstated by a factor of", "高估倍数";
        /// Row: tokens of the cache.
        KvTokens => "KV tokens", "KV token 数";
        /// Row: blocks.
        Blocks => "blocks", "块数";
        /// Row: the longest allowed request.
        MaxModelLen => "max-model-len", "max-model-len";
        /// Row: the longest that would fit.
        Longest => "largest max-model-len", "最大可用 max-model-len";
        /// Row: requests at once.
        Concurrency => "requests of {tokens} tokens at once", "{tokens} token 请求的最大并发数";
        /// Verdict: fits.
        Fits => "FITS", "可容纳";
        /// Verdict: does not fit.
        DoesNotFit => "DOES NOT FIT", "放不下";
        /// Why: no room for the cache.
        NoCache => "{engine} on {device} lacks {gib} GiB a card for the smallest cache", "{device} 上的 {engine} 每卡还差 {gib} GiB 才有最小的 KV 缓存";
        /// Why: the longest request does not fit.
        TooLong => "{engine} on {device} lacks {gib} GiB a card for one request of {tokens} tokens", "{device} 上的 {engine} 每卡还差 {gib} GiB 才放得下一个 {tokens} token 的请求";
        /// Why: the cache that was asked for has no room.
        CacheTooLarge => "{engine} on {device} lacks {gib} GiB a card for the KV cache that its flags ask for", "{device} 上的 {engine} 每卡还差 {gib} GiB 才放得下参数所要求的 KV 缓存";
        /// Remedy: a smaller cache.
        SmallerCache => "a KV cache of at most {gib} GiB a card", "每卡 KV 缓存不超过 {gib} GiB";
        /// Requests that the engine would refuse.
        LongerThanMax => "requests of {tokens} tokens are longer than max-model-len {most}: they are refused, so that none run at once", "{tokens} token 的请求超过 max-model-len {most}，会被拒绝，故无并发数";
        /// Encoders that are not counted.
        NotCounted => "not counted in the weights: {names}; a folder or URL with the weight files counts all", "权重未计入：{names}；给出含权重文件的目录或 URL 即可全部计入";
        /// Where a card ends, in a bar that goes beyond it.
        CardEnd => "end of the card", "显存上限";
        /// It fits.
        Holds => "{engine} on {device} holds {tokens} tokens of KV cache", "{device} 上的 {engine} 可存 {tokens} 个 token 的 KV 缓存";
        /// It fits, with a cache for each replica.
        HoldsEach => "{engine} on {device} holds {tokens} tokens of KV cache in each of {replicas} replicas", "{device} 上的 {engine} 每个副本（共 {replicas} 个）可存 {tokens} 个 token 的 KV 缓存";
        /// Data parallelism.
        PerReplica => "{n} replicas: KV tokens, blocks and requests at once are those of one replica", "共 {n} 个副本：KV token 数、块数与并发数均为单个副本的值";
        /// Pipeline parallelism.
        PoorestStage => "pipeline stage {n} of {all} is shown ({layers} layers): its cache holds the fewest tokens, and the others have no more blocks", "所示为流水线第 {n}/{all} 段（{layers} 层）：其 KV 缓存容量最小，其他段的块数与之相同";
        /// Flags that change memory and are not counted.
        FlagsNotCounted => "given, but not counted: {names}; memory will differ by what they take", "已给出但未计入：{names}；实际显存会有相应差异";
        /// MindIE's size by both ways.
        NpuMemSize => "{automatic} (-1), {by_hand} (0.8 × rest)", "{automatic}（-1），{by_hand}（剩余显存 × 0.8）";
        /// Remedies.
        WouldFit => "would fit with", "以下做法可行";
        /// No remedy.
        NothingFits => "none of the tried remedies fits: more cards up to 16, 8 or 4 bits, a shorter max-model-len", "试过的办法（至多 16 卡、8 或 4 位量化、更短的 max-model-len）都不行";
        /// Weights are computed.
        FromShape => "weights are computed from the shape", "权重由模型结构推算";
        /// Weights are exact.
        FromHeaders => "weights are added up from the safetensors headers", "权重取自 safetensors 文件头";
        /// MindIE's settings.
        Mindie => "MindIE's settings for {input} + {output} tokens", "MindIE 配置（{input} + {output} token）";
        /// Heading of a calibration.
        Calibration => "Calibration", "标定";
        /// Column: a point.
        Point => "point", "负载点";
        /// Where it is from.
        Source => "source", "来源";
        /// Note on the errors in the table.
        HeldOutNote => "predicted / measured − 1 of each point, predicted from the others alone", "每个负载点仅由其余点预测：预测值 / 实测值 − 1";
        /// Note on a rate that contradicts another.
        LeftOutOtherTime => "{points}: req/s left out, it contradicts output tok/s (another time, or another length); output tok/s is used", "{points}：未采用每秒请求数，它与输出吞吐量矛盾（统计时段或长度不一致），以输出吞吐量为准";
        /// Note on rates that leave streams idle.
        LeftOutIdle => "{points}: rates left out, with the latency they leave streams idle (a straggler, or a wrong figure); latencies are used", "{points}：未采用速率，按时延折算有并发处于空闲（有拖尾请求，或数据有误），以时延为准";
        /// A load with the requests that were under way.
        InFlight => "{load} ({n} in flight)", "{load}（在途 {n}）";
        /// Note on a length that nobody told.
        AssumedLength => "max-model-len {tokens} is assumed: the model's own does not fit on this card; --flag max-model-len=N says better", "假定 max-model-len 为 {tokens}：模型自身的长度在此卡上放不下；可用 --flag max-model-len=N 指明";
        /// Column: the metric.
        Metric => "metric", "指标";
        /// Column: median error.
        MedianError => "median error", "误差中位数";
        /// Column: bound of the error.
        Bound => "9 of 10 below", "九成低于";
        /// Metric: requests a second.
        Requests => "req/s", "每秒请求";
        /// Metric: tokens a second.
        Throughput => "output tok/s", "输出吞吐量 tok/s";
        /// Column: the same, where there is little room.
        Tokens => "tok/s", "tok/s";
        /// Metric: TTFT.
        Ttft => "TTFT", "首 token 时延 TTFT";
        /// Metric: TPOT.
        Tpot => "TPOT", "每 token 时延 TPOT";
        /// Metric: E2E.
        E2e => "E2E latency", "端到端时延";
        /// Heading: held-out errors.
        HeldOut => "Error at points that were held out", "留出点误差";
        /// Heading: the envelope.
        Envelope => "May be trusted within", "可信范围";
        /// Heading: the envelope of what may not be trusted.
        Spanned => "The points span", "负载点范围";
        /// Errors that are too large.
        Distrusted => "may not be trusted: {metric} at {point} was predicted {error} off from the other points; measure it again or leave it out, and check model, card, lengths and flags", "不可信：由其余负载点预测 {point} 的{metric}，误差 {error}；请重测或去掉该点，并核对模型、设备、长度与参数";
        /// The file.
        Written => "written to {file}", "已写入 {file}";
        /// A measurement that the card cannot have made.
        TooFast => "{point}: a token took {token} ms, and {device} needs {weights} ms to read the weights once; check the card, the model and its precision", "{point}：每 token {token} ms，而 {device} 读一遍权重至少需 {weights} ms；请核对设备、模型与精度";
        /// Heading of a what-if.
        WhatIf => "Predictions", "预测";
        /// Column: flags.
        Flags => "flags", "参数";
        /// Column: the load.
        Load => "load", "负载";
        /// A load.
        LoadStreams => "{n} streams", "并发 {n}";
        /// A load.
        LoadRate => "{n} req/s", "{n} 请求/s";
        /// Column: objectives met.
        Slo => "SLO", "SLO";
        /// Yes.
        Met => "met", "达标";
        /// No.
        Missed => "missed", "未达标";
        /// Perhaps.
        Uncertain => "uncertain", "不确定";
        /// What that means.
        UncertainNote => "uncertain: the prediction meets the objectives, and the upper end of an interval does not, or no interval is known", "不确定：预测值达标，但区间上限不达标，或没有区间";
        /// Column: in the envelope.
        Trust => "envelope", "可信范围";
        /// Inside.
        Inside => "inside", "内";
        /// Outside.
        Outside => "outside", "外";
        /// Column: replicas.
        Replicas => "replicas", "副本数";
        /// Column: cost.
        Cost => "cost / M tokens", "每百万 token 成本";
        /// Column: tokens a joule.
        Joule => "tok/J", "tok/J";
        /// The one to take.
        Recommended => "recommended", "推荐";
        /// The one to take may miss.
        RecommendedUncertain => "not certain: no setting meets the objectives with its whole interval; measure it (--verify) before relying on it", "尚不确定：没有配置在整个区间内达标；采用前请先实测（--verify）";
        /// Heading of latencies.
        Latencies => "Latencies, ms", "时延，ms";
        /// None to take.
        NothingMeets => "no setting meets the objectives", "没有配置满足目标";
        /// The engine refuses.
        Refused => "refused: {reason}", "拒绝启动：{reason}";
        /// Not even one stream.
        NeverMet => "one stream alone misses the objectives", "单个并发已不达标";
        /// Requests longer than the engine takes, all of them.
        AllTooLong => "rejected: {tokens} tokens (prompt + answer) exceed max-model-len {most}", "拒绝请求：{tokens} token（输入 + 输出）超过 max-model-len {most}";
        /// Some of them.
        SomeTooLong => "{n} of {all} requests exceed max-model-len (prompt + answer): the engine rejects them, and they count as failed", "{all} 个请求中有 {n} 个（输入 + 输出）超过 max-model-len：会被引擎拒绝，计为失败";
        /// What was sent.
        WorkNote => "simulated: prompts of {input} and answers of {output} tokens, {requests} requests, {start}", "模拟负载：输入 {input}、输出 {output} token，{requests} 个请求，{start}";
        /// Lengths of a trace.
        OfTrace => "{n} (mean of the trace)", "{n}（trace 均值）";
        /// When streams begin.
        StartSpread => "streams starting one after another over one latency", "各并发在一个时延内依次起步";
        /// When streams begin.
        StartAtOnce => "all streams starting at once", "全部并发同时起步";
        /// Open loops.
        RandomArrivals => "arriving at random", "随机到达";
        /// What is outside.
        Beyond => "{what} {value} was not measured ({measured})", "{what} {value} 未测过（{measured}）";
        /// Metrics without held-out points.
        Uncalibrated => "no interval for {metrics}: not among the fitted figures, they follow from the calibrated timing", "{metrics} 无区间：不在参与标定的数据之列，由标定后的时延模型推算";
        /// Intervals.
        IntervalNote => "± is the error of tok/s that 9 of 10 predictions stay below, from points that were held out. Inside the envelope: {bounds}; outside, all grow alike", "± 为 tok/s 的误差上限：按留出点估计，九成预测不超过此值。可信范围内：{bounds}；范围外同比放宽";
        /// Heading: a prediction beside a measurement.
        Verified => "Verified", "验证";
        /// Heading and verdict: the measurement is another.
        NotVerified => "NOT VERIFIED", "验证未通过";
        /// Why, and what to do.
        FarOff => "{metrics}: measured far outside the interval. Check that the server runs with these flags on this card, that it serves this load alone, and that lengths and prefix cache are those of the calibration; else calibrate again with this run among the points", "{metrics}：实测值远在区间之外。请核对服务的启动参数与设备、是否只承受此负载、长度与前缀缓存是否同标定时一致；若无误，请将此次运行加入负载点重新标定";
        /// An earlier verification that held.
        LastHeld => "last verified {at} on {on} ({setting}): {errors}", "上次验证 {at}，{on}（{setting}）：{errors}";
        /// One that did not.
        LastFailed => "the last verification of this calibration failed ({at}, {on}; {setting}): {errors}; predictions below may be as wrong", "此标定上次验证未通过（{at}，{on}；{setting}）：{errors}；以下预测可能同样不准";
        /// A row of a file.
        FileLine => "{file} line {n}", "{file} 第 {n} 行";
        /// Range: streams.
        RangeConcurrency => "concurrency", "并发数";
        /// Range: requests a second.
        RangeRate => "rate", "请求速率";
        /// Range: prompts.
        RangeInput => "input-tokens", "输入长度";
        /// Range: answers.
        RangeOutput => "output-tokens", "输出长度";
        /// Column: the prediction.
        Predicted => "predicted", "预测值";
        /// Column: the measurement.
        Measured => "measured", "实测值";
        /// Column: what the simulated engine gave.
        Simulated => "simulated", "模拟值";
        /// Column: the error.
        Error => "error", "误差";
        /// Column: whether the measurement lies in the interval.
        Interval => "interval", "区间";
        /// The measurement lies inside.
        WithinBound => "inside", "区间内";
        /// It does not.
        BeyondBound => "outside", "区间外";
        /// Where the error is kept.
        VerifiedKept => "the error is kept in {file}", "误差已记入 {file}";
        /// Where the run is.
        VerifiedRun => "the run is {run}", "运行记录：{run}";
        /// No server was measured.
        VerifiedSimulated => "simulated with noise and other requests: nothing was measured on a server", "仅为带噪声、另取请求的模拟：并未在真实服务上实测";
        /// Title of curves over the load.
        OverLoad => "Predictions over the load", "预测随负载变化";
        /// What the bands of curves are.
        Bands => "Bands: where the value lies in 9 of 10 cases by the held-out errors, wider outside what was measured.", "色带：按留出点误差，九成情况下实际值落在其中；超出已测范围时更宽。";
        /// The same where both axes are predicted.
        LatencyBands => "Bands: where the latency lies in 9 of 10 cases by the held-out errors; req/s may be off too ({bound} inside the envelope), which is not drawn.", "色带：按留出点误差，九成情况下时延落在其中；横轴的每秒请求数同样有误差（可信范围内 {bound}），图中未画。";
        /// Points outside the envelope.
        HollowPoints => "Hollow points: outside what was measured.", "空心点：超出已测范围。";
        /// A flag at its default.
        Usual => "default", "默认";
    }
}

#[cfg(test)]
mod tests {
    use super::PlanText;
    use inferometer_text::Lang;

    #[test]
    fn both_languages_carry_the_same_values() {
        let names = |text: &str| {
            let mut names: Vec<String> = text
                .split('{')
                .skip(1)
                .filter_map(|rest| Some(rest.split_once('}')?.0.to_owned()))
                .collect();
            names.sort();
            names
        };
        for &text in PlanText::ALL {
            assert_eq!(
                names(text.text(Lang::En)),
                names(text.text(Lang::Zh)),
                "{text:?}"
            );
        }
    }
}
