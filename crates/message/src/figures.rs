//! Words of charts: titles, axes, legends, footnotes.

inferometer_text::texts! {
    /// A text of a figure. Those that carry `{name}` are templates.
    pub enum FigureText {
        Distributions => "Latency distributions", "时延分布";
        ShareOfAnswers => "Share of answers", "请求占比";
        ShareOfGaps => "Share of gaps", "间隔占比";
        Timeline => "The run over time", "运行时间线";
        Time => "Time", "时间";
        SteadyState => "steady state", "稳态";
        Window => "measured window", "测量窗口";
        Requests => "Every request", "逐请求散点";
        TokenGaps => "Gaps between tokens", "token 间隔";
        LargestGaps => "Largest gap of each answer", "每个请求的最大间隔";
        AllGaps => "All gaps", "全部间隔";
        Smooth => "no stall", "无卡顿";
        Stalled => "stall", "卡顿";
        Gap => "Gap", "间隔";

        Ttft => "TTFT", "首 token 时延 TTFT";
        Tpot => "TPOT", "每 token 时延 TPOT";
        FirstAnswer => "First answer token", "首个回答 token 时延";
        Attainment => "Attainment", "达标率";
        Itl => "ITL", "token 间时延 ITL";
        InterChunk => "Inter-chunk gap", "数据块间隔";
        E2e => "End-to-end latency", "端到端时延";
        TimePerUserToken => "Time per token of one user", "单用户每 token 时间";
        Job => "Job time", "任务时间";
        MaxGap => "Max gap", "最大间隔";
        MeanOf => "{metric}, mean", "{metric}，均值";
        PercentileOf => "{metric}, {p}", "{metric}，{p}";
        Mean => "mean", "均值";
        Median => "median", "中位数";
        OneRequest => "one request", "单个请求";
        RollingMedian => "median", "中位数";

        OutputThroughput => "Output throughput", "输出吞吐量";
        TotalThroughput => "Total throughput", "总吞吐量";
        RequestThroughput => "Request throughput (QPS)", "请求吞吐量 QPS";
        CharThroughput => "Output characters", "输出字符吞吐量";
        CharsPerS => "chars/s", "字符/s";
        ItemThroughput => "Item throughput", "条目吞吐量";
        AudioThroughput => "Audio throughput", "音频吞吐量";
        RealTimeFactor => "real-time factor", "实时率（RTF）";
        SessionsPerHour => "Sessions per hour", "每小时会话数";
        Goodput => "Goodput", "有效吞吐量 Goodput";
        Duration => "Duration", "总耗时";
        InFlight => "Requests in flight", "在途请求数";
        Failures => "Failures", "失败请求";
        FailedShare => "Failed requests", "失败率";
        FailedCount => "Failed requests, count", "失败请求数";
        PerUser => "Speed of one user", "单用户生成速度";
        PerCard => "{metric} per card", "单卡{metric}";

        InputLength => "Input length", "输入长度";
        OutputLength => "Output length", "输出长度";
        AskedLength => "Asked length", "要求的长度";
        Tokens => "tokens", "tokens";
        Characters => "characters", "字符";
        Concurrency => "Concurrency", "并发数";
        Rate => "Request rate", "请求速率";
        Configuration => "Configuration", "配置";

        Ladder => "Load ladder", "加压曲线";
        OverAxis => "Results over {axis}", "随 {axis} 的变化";
        Overlay => "Engines compared", "引擎对比";
        SideBySide => "Side by side", "并列对比";
        SideBySidePerCard => "Side by side, per card", "并列对比（单卡）";
        OverlayPerCard => "Engines compared, per card", "引擎对比（单卡）";
        Computed => "Computed in virtual time on the simulated engine; nothing was measured.", "以虚拟时间在模拟引擎上计算得出，并非实测。";
        ComputedSides => "Computed in virtual time on the simulated engine, not measured: {sides}.", "以虚拟时间在模拟引擎上计算得出，并非实测：{sides}。";
        LadderPerCard => "Load ladder, per card", "加压曲线（单卡）";
        LadderFailures => "Failures over load", "失败请求随负载变化";
        ConfigurationLatency => "Latency by configuration", "各配置时延";
        ConfigurationThroughput => "Throughput by configuration", "各配置吞吐量";
        ThroughputLatency => "Latency over throughput", "吞吐量–时延曲线";
        Pareto => "Speed of one user against total throughput", "单用户速度与总吞吐量";
        ParetoFront => "Pareto front", "帕累托前沿";
        ParetoFrontOf => "Pareto front, {work}", "帕累托前沿（{work}）";
        Ratios => "Compared with {baseline}", "与 {baseline} 对比";
        RatiosOf => "{side} compared with {baseline}", "{side} 与 {baseline} 对比";
        OverLoads => "{metric}, by load", "{metric}（按负载）";
        MorePanels => "{count} more loads are in the tables.", "另有 {count} 个负载点见表格。";
        Ratio => "Ratio to the baseline", "与基线之比";
        Better => "better", "更优";
        Worse => "worse", "更差";
        Same => "same", "无差异";
        Unknown => "undecided", "无法判断";
        NotComparable => "not comparable", "不可比";
        WithinMargin => "within ±{margin}", "±{margin} 以内";

        Objective => "SLO {objective}", "SLO {objective}";
        Capacity => "capacity {value}", "容量 {value}";
        HighestMet => "highest that met the SLO: {value}, not confirmed", "满足 SLO 的最高测点 {value}（未确认）";
        TierCapacity => "{tier}: {value}", "{tier}：{value}";
        Knee => "knee {value}", "拐点 {value}";
        KneeIs => "Knee: the lowest load with 95 % of the highest output throughput; shaded are the measured levels that it lies between.", "拐点：达到最高输出吞吐量 95 % 的最低负载；阴影为其所在的测点区间。";
        Knees => "Lowest load with 95 % of the highest output throughput: {points}.", "达到最高输出吞吐量 95 % 的最低负载：{points}。";
        KneeOf => "{name} {value} ({low}–{high})", "{name} {value}（{low}–{high}）";

        Search => "Probes of the search", "容量搜索测点";
        Meets => "met the objectives", "满足目标";
        Misses => "missed them", "未满足目标";
        NotJudged => "undecided", "未判定";
        CapacityInterval => "Shaded: the 90 % interval of the capacity. Probes differ in length, and beyond the capacity latency grows with it.", "阴影：容量的 90 % 区间。各测点时长不同，超过容量后时延随时长增长。";

        TierMarks => "Lines: the capacity of each tier; the interval is shaded for the first, and each probe is coloured for the tier that it was made for.", "竖线：各档目标的容量；阴影区间对应第一档，测点颜色对应该次探测所针对的档位。";

        NoData => "no data", "无数据";
        NoAnswers => "no complete answer", "没有成功的请求";
        NoFailures => "No request failed.", "没有失败的请求。";
        LeftOut => "Left out because the run is INVALID: {points}.", "因运行无效（INVALID）未绘出：{points}。";
        NotMeasured => "Not measured: {points}.", "没有测量结果：{points}。";
        Doubtful => "Drawn though INVALID: {points}.", "虽无效（INVALID）仍绘出：{points}。";
        TitleOf => "{title}: {of}", "{title}：{of}";
        InvalidTitle => "{title} – INVALID", "{title} – 无效（INVALID）";
        AllInvalid => "Every point of this chart is INVALID; the report says why.", "本图全部测点均为无效（INVALID），原因见报告。";
        Pooled => "Requests of repeated runs are taken together.", "重复运行的请求合并统计。";
        SomeLoads => "Drawn: {shown} of {count} loads.", "绘出 {count} 个负载点中的 {shown} 个。";
        AndMore => "and {count} more", "另有 {count} 个";
        Thinned => "Drawn: at most {most} points per series, extremes kept; numbers are from all {count}.", "每条曲线最多绘制 {most} 个点并保留极值；数值由全部 {count} 个点计算。";
        Counted => "Gaps are counted in bins of 1.6 %; marks are exact.", "间隔按 1.6 % 的细分区间计数；标注值为精确值。";
        Intervals => "Bands and whiskers: 95 % intervals.", "色带与误差线：95 % 置信区间。";
        LabelsAre => "Labels of points: {axis}.", "点旁标注：{axis}。";
        MeanLengths => "Mean tokens per request: input {input}, output {output}.", "每请求平均 token 数：输入 {input}，输出 {output}。";
        StallMeans => "Stall: a gap of at least {factor} × the median gap of its answer and {floor}, in answers of {gaps} gaps or more.", "卡顿：间隔不小于该请求间隔中位数的 {factor} 倍，且不小于 {floor}；仅统计间隔数不少于 {gaps} 的请求。";
        NoCards => "Left out because no tag gives the number of cards: {points}.", "因未标注卡数（cards）未绘出：{points}。";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_text::Lang;

    #[test]
    fn both_languages_have_the_same_places_for_values() {
        let names = |text: &str| {
            let mut names: Vec<String> = text
                .split('{')
                .skip(1)
                .filter_map(|rest| rest.split_once('}').map(|(name, _)| name.to_owned()))
                .collect();
            names.sort();
            names
        };
        for text in FigureText::ALL {
            let (en, zh) = (text.text(Lang::En), text.text(Lang::Zh));
            assert!(!en.is_empty() && !zh.is_empty());
            assert_eq!(names(en), names(zh), "{text:?}");
        }
    }
}
