//! Words of charts: titles, axes, legends, footnotes.

inferometer_text::texts! {
    /// A text of a figure. Those that carry `{name}` are templates.
    pub enum FigureText {
        /// Title: distributions of latencies.
        Distributions => "Latency distributions", "时延分布";
        /// Axis: share of values at or below.
        ShareOfAnswers => "Share of answers", "请求占比";
        /// Axis: the same over gaps between tokens.
        ShareOfGaps => "Share of gaps", "间隔占比";
        /// Title: a run over time.
        Timeline => "The run over time", "运行时间线";
        /// Axis: seconds since the run began.
        Time => "Time", "时间";
        /// Shade: the settled part of a run.
        SteadyState => "steady state", "稳态";
        /// Title: each request as a point.
        Requests => "Every request", "逐请求散点";
        /// Title: gaps between tokens.
        TokenGaps => "Gaps between tokens", "token 间隔";
        /// Panel: largest gap of each answer.
        LargestGaps => "Largest gap of each answer", "每个请求的最大间隔";
        /// Panel: all gaps.
        AllGaps => "All gaps", "全部间隔";
        /// Legend: answers without a stall.
        Smooth => "no stall", "无卡顿";
        /// Legend: answers with a stall.
        Stalled => "stall", "卡顿";
        /// Axis: a gap.
        Gap => "Gap", "间隔";

        /// Time to first token.
        Ttft => "TTFT", "首 token 时延 TTFT";
        /// Time per output token.
        Tpot => "TPOT", "每 token 时延 TPOT";
        /// Time to the first token that is not reasoning.
        FirstAnswer => "First answer token", "首个回答 token 时延";
        /// Share of requests that met all that is asked of one.
        Attainment => "Attainment", "达标率";
        /// Gap between tokens.
        Itl => "ITL", "token 间时延 ITL";
        /// Gap between chunks, where tokens cannot be told.
        InterChunk => "Inter-chunk gap", "数据块间隔";
        /// End-to-end latency.
        E2e => "End-to-end latency", "端到端时延";
        /// Largest gap of each answer, as a metric.
        MaxGap => "Max gap", "最大间隔";
        /// Mean of `{metric}`.
        MeanOf => "{metric}, mean", "{metric}，均值";
        /// Percentile `{p}` of `{metric}`.
        PercentileOf => "{metric}, {p}", "{metric}，{p}";
        /// Legend: mean.
        Mean => "mean", "均值";
        /// Legend: median.
        Median => "median", "中位数";
        /// Legend: one request.
        OneRequest => "one request", "单个请求";
        /// Legend: median of a part of time.
        RollingMedian => "median", "中位数";

        /// Output tokens a second.
        OutputThroughput => "Output throughput", "输出吞吐量";
        /// Input and output tokens a second.
        TotalThroughput => "Total throughput", "总吞吐量";
        /// Complete answers a second.
        RequestThroughput => "Request throughput (QPS)", "请求吞吐量 QPS";
        /// Requests that met all objectives, a second.
        Goodput => "Goodput", "有效吞吐量 Goodput";
        /// Length of a run.
        Duration => "Duration", "总耗时";
        /// Requests under way.
        InFlight => "Requests in flight", "在途请求数";
        /// Failures.
        Failures => "Failures", "失败请求";
        /// Share of requests that failed.
        FailedShare => "Failed requests", "失败率";
        /// Number of requests that failed.
        FailedCount => "Failed requests, count", "失败请求数";
        /// Tokens a second as one user gets them.
        PerUser => "Speed of one user", "单用户生成速度";
        /// `{metric}` divided by the number of cards.
        PerCard => "{metric} per card", "单卡{metric}";

        /// Axis: prompt tokens.
        InputLength => "Input length", "输入长度";
        /// Axis: output tokens.
        OutputLength => "Output length", "输出长度";
        /// Unit: tokens.
        Tokens => "tokens", "tokens";
        /// Unit: characters.
        Characters => "characters", "字符";
        /// Axis of a ladder: streams.
        Concurrency => "Concurrency", "并发数";
        /// Axis of a ladder: requests a second.
        Rate => "Request rate", "请求速率";
        /// Axis: name of a configuration.
        Configuration => "Configuration", "配置";

        /// Title: metrics over levels of load.
        Ladder => "Load ladder", "加压曲线";
        /// Title: metrics over the values of `{axis}`, which is no load.
        OverAxis => "Results over {axis}", "随 {axis} 的变化";
        /// Title: several engines over levels of load.
        Overlay => "Engines compared", "引擎对比";
        /// Title: the same for each card.
        OverlayPerCard => "Engines compared, per card", "引擎对比（单卡）";
        /// Under figures of what was not measured.
        Computed => "Computed in virtual time on the simulated engine; nothing was measured.", "以虚拟时间在模拟引擎上计算得出，并非实测。";
        /// Under figures of which some sides were not measured.
        ComputedSides => "Computed in virtual time on the simulated engine, not measured: {sides}.", "以虚拟时间在模拟引擎上计算得出，并非实测：{sides}。";
        /// Title: one ladder by the number of its cards.
        LadderPerCard => "Load ladder, per card", "加压曲线（单卡）";
        /// Title: failures over levels of load.
        LadderFailures => "Failures over load", "失败请求随负载变化";
        /// Title: latency over configurations.
        ConfigurationLatency => "Latency by configuration", "各配置时延";
        /// Title: throughput over configurations.
        ConfigurationThroughput => "Throughput by configuration", "各配置吞吐量";
        /// Title: latency over throughput.
        ThroughputLatency => "Latency over throughput", "吞吐量–时延曲线";
        /// Title: speed of a user against the whole.
        Pareto => "Speed of one user against total throughput", "单用户速度与总吞吐量";
        /// Legend: points that no other beats in both.
        ParetoFront => "Pareto front", "帕累托前沿";
        /// Title: input lengths by output lengths.
        Grid => "Input length × output length", "输入长度 × 输出长度";
        /// Title: ratios to `{baseline}`.
        Ratios => "Compared with {baseline}", "与 {baseline} 对比";
        /// Title: ratios of `{side}` to `{baseline}`.
        RatiosOf => "{side} compared with {baseline}", "{side} 与 {baseline} 对比";
        /// Panel: `{metric}` at every load.
        OverLoads => "{metric}, by load", "{metric}（按负载）";
        /// Footnote: `{count}` loads have no panel.
        MorePanels => "{count} more loads are in the tables.", "另有 {count} 个负载点见表格。";
        /// Axis: a ratio.
        Ratio => "Ratio to the baseline", "与基线之比";
        /// Legend: better.
        Better => "better", "更优";
        /// Legend: worse.
        Worse => "worse", "更差";
        /// Legend: no difference.
        Same => "same", "无差异";
        /// Legend: the data cannot tell.
        Unknown => "undecided", "无法判断";
        /// Shade: within `{margin}`.
        WithinMargin => "within ±{margin}", "±{margin} 以内";

        /// Mark: objective `{objective}`.
        Objective => "SLO {objective}", "SLO {objective}";
        /// Mark: capacity `{value}`.
        Capacity => "capacity {value}", "容量 {value}";
        /// Mark: capacity `{value}` of the tier `{tier}`.
        TierCapacity => "{tier}: {value}", "{tier}：{value}";
        /// Mark: knee at `{value}`.
        Knee => "knee {value}", "拐点 {value}";
        /// Footnote: what a knee is.
        KneeIs => "Knee: from there on output throughput hardly rises; shaded are the measured levels that it lies between.", "拐点：此后输出吞吐量几乎不再上升；阴影为其所在的测点区间。";
        /// Footnote: the knees of several ladders, `{points}`.
        Knees => "Output throughput hardly rises from here on: {points}.", "输出吞吐量自此几乎不再上升：{points}。";
        /// A knee at `{value}` of the ladder `{name}`, between `{low}` and `{high}`.
        KneeOf => "{name} {value} ({low}–{high})", "{name} {value}（{low}–{high}）";

        /// Title: the probes of a search for capacity.
        Search => "Probes of the search", "容量搜索测点";
        /// Legend: a probe that met the objectives.
        Meets => "met the objectives", "满足目标";
        /// Legend: a probe that missed them.
        Misses => "missed them", "未满足目标";
        /// Legend: a probe that is not judged.
        NotJudged => "undecided", "未判定";
        /// Footnote: what a shade is.
        CapacityInterval => "Shaded: the 90 % interval of the capacity. Probes differ in length, and beyond the capacity latency grows with it.", "阴影：容量的 90 % 区间。各测点时长不同，超过容量后时延随时长增长。";

        /// Footnote: what the marks of a search's tiers are.
        TierMarks => "Lines: the capacity of each tier; probes are coloured, and the interval is shaded, for the first.", "竖线：各档目标的容量；测点颜色与阴影区间对应第一档。";

        /// Empty: nothing to draw.
        NoData => "no data", "无数据";
        /// Empty: no answer was complete.
        NoAnswers => "no complete answer", "没有成功的请求";
        /// Footnote: no request failed.
        NoFailures => "No request failed.", "没有失败的请求。";
        /// Footnote: points `{points}` left out.
        LeftOut => "Left out because the run is INVALID: {points}.", "因运行无效（INVALID）未绘出：{points}。";
        /// Footnote: points `{points}` of which there is no measurement.
        NotMeasured => "Not measured: {points}.", "没有测量结果：{points}。";
        /// Footnote: points `{points}` that are drawn and doubtful.
        Doubtful => "Drawn though INVALID: {points}.", "虽无效（INVALID）仍绘出：{points}。";
        /// Title of a figure that has nothing but invalid points.
        InvalidTitle => "{title} – INVALID", "{title} – 无效（INVALID）";
        /// Footnote to it.
        AllInvalid => "Every point of this chart is INVALID; the report says why.", "本图全部测点均为无效（INVALID），原因见报告。";
        /// Footnote: repeats in one distribution.
        Pooled => "Requests of repeated runs are taken together.", "重复运行的请求合并统计。";
        /// Footnote: `{shown}` of `{count}` loads.
        SomeLoads => "Drawn: {shown} of {count} loads.", "绘出 {count} 个负载点中的 {shown} 个。";
        /// In a list that was cut: `{count}` more.
        AndMore => "and {count} more", "另有 {count} 个";
        /// Footnote: drawn points of all.
        Thinned => "Drawn: at most {most} points of a series, extremes kept; numbers are from all {count}.", "每条曲线最多绘制 {most} 个点并保留极值；数值由全部 {count} 个点计算。";
        /// Footnote: gaps are counted in fine classes.
        Counted => "Gaps are counted in classes of 1.6 %; marks are exact.", "间隔按 1.6 % 的细分区间计数；标注值为精确值。";
        /// Footnote to a percentile with `*`.
        FewSamples => "* fewer samples than the percentile needs ({least})", "* 样本数少于该分位数所需（{least}）";
        /// Footnote: what bands are.
        Intervals => "Bands and whiskers: 95 % intervals.", "色带与误差线：95 % 置信区间。";
        /// Footnote: labels of points are levels of `{axis}`.
        LabelsAre => "Labels of points: {axis}.", "点旁标注：{axis}。";
        /// Footnote: mean lengths `{input}` and `{output}`.
        MeanLengths => "Mean tokens of a request: input {input}, output {output}.", "每请求平均 token 数：输入 {input}，输出 {output}。";
        /// Footnote: what a stall is.
        StallMeans => "Stall: a gap of at least {factor} × the median gap of its answer and {floor}, in answers of {gaps} gaps or more.", "卡顿：间隔不小于该请求间隔中位数的 {factor} 倍，且不小于 {floor}；仅统计间隔数不少于 {gaps} 的请求。";
        /// Footnote: cards of which nothing is known.
        NoCards => "Left out because no tag says the number of cards: {points}.", "因未标注卡数（cards）未绘出：{points}。";
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
