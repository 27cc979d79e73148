//! Texts of comparisons.

inferometer_text::texts! {
    pub enum CompareText {
        Better => "BETTER", "更好";
        Worse => "WORSE", "更差";
        Same => "NO DIFFERENCE", "无差异";
        SlightlyBetter => "SLIGHTLY BETTER", "略好";
        SlightlyWorse => "SLIGHTLY WORSE", "略差";
        Unknown => "CANNOT TELL", "无法判断";
        Mixed => "MIXED", "有好有坏";
        NotComparable => "NOT COMPARABLE", "不可比";
        CellBetter => "better", "更好";
        CellWorse => "worse", "更差";
        CellSame => "no difference", "无差异";
        CellSlightlyBetter => "slightly better", "略好";
        CellSlightlyWorse => "slightly worse", "略差";
        NotTested => "not tested", "未检验";
        CellNotComparable => "not comparable", "不可比";
        CellNoFigure => "no figure", "缺少数值";
        CellUnknown => "cannot tell", "无法判断";
        AlsoWorse => "{group}: other metrics are worse: {metrics}", "{group}：其他指标更差：{metrics}";
        AtOnePoint => "{group}: {metric} {change} at {point}", "{group}：{point} 时 {metric} {change}";
        AtOnePointInside => "{group}: {metric} {change} at {point}: different, but by less than the margin of {margin}", "{group}：{point} 时 {metric} {change}：有差异，但小于容许差 {margin}";
        AtPoints => "{group}: {metric} {counts} of {all} points", "{group}：{metric} 在 {all} 个负载点中 {counts}";
        CountBetter => "better at {count}", "{count} 个更好";
        CountWorse => "worse at {count}", "{count} 个更差";
        CountSlightlyBetter => "slightly better at {count}", "{count} 个略好";
        CountSlightlyWorse => "slightly worse at {count}", "{count} 个略差";
        CountSame => "no difference at {count}", "{count} 个无差异";
        CountUnknown => "cannot tell at {count}", "{count} 个无法判断";
        CountNotComparable => "not comparable at {count}", "{count} 个不可比";
        SeeReasons => "{group}: reasons against a comparison below: {count}", "{group}：有 {count} 条不可比的原因，见下";
        OnlyInvalid => "{group}: nothing is decided: INVALID runs of {sides}, for the reasons below", "{group}：无法下结论：{sides} 有无效（INVALID）的运行，原因见下";
        Baseline => "{side} (baseline)", "{side}（基准）";
        GroupIs => "{name} (runs: {runs}, loads: {points})", "{name}（{runs} 次运行，{points} 个负载点）";
        RunsAndLoads => "runs: {runs}, loads: {points}", "{runs} 次运行，{points} 个负载点";
        ModelOn => "{model} on {cards}", "{model}，{cards}";
        Cards => "{count} cards", "{count} 卡";
        OneCard => "1 card", "1 张卡";
        WithinSlo => "Within the SLO", "满足 SLO 的范围";
        WithinSloOf => "Within the SLO ({objectives})", "满足 SLO 的范围（{objectives}）";
        Side => "side", "对象";
        Setting => "setting", "配置";
        Objectives => "objectives", "目标";
        MetUpTo => "met up to", "达标上限";
        MissedAt => "missed at", "超标于";
        NoLoad => "no load", "无";
        SloMetUpTo => "{group}: within the SLO up to {own}, the baseline up to {other}{setting}", "{group}：满足 SLO 的上限为 {own}，基准为 {other}{setting}";
        SloMetUpToPerCard => "{group}: the same load divided by the number of cards{setting}", "{group}：同上，按每卡负载计{setting}";
        SloUndecided => "{group}: within the SLO at least up to {own}, the baseline up to {other}{setting}; measure higher loads, or loads in between", "{group}：满足 SLO 的上限至少为 {own}，基准为 {other}{setting}；请测更高的负载，或两者之间的负载";
        OtherObjectives => "{group}: its objectives are not those of the baseline{setting}; give --slo for both", "{group}：目标与基准不同{setting}；请用 --slo 统一指定";
        Margin => "margin", "容许差";
        LeftOut => "left out: {run} is INVALID ({codes})", "未计入：{run} 无效（INVALID，{codes}）";
        Contradicted => "{side}: other numbers of a result contradict {metrics}, which decides nothing there (`inferometer import` says how); compare by another figure with --primary, or measure again", "{side}：结果中的其他数值与 {metrics} 矛盾，不据此下结论（详见 `inferometer import`）；请用 --primary 按其他指标比较，或重新测量";
        AllInvalid => "{side}: INVALID ({codes})", "{side}：无效（INVALID，{codes}）";
        SomeInvalid => "{side}: {count} of {runs} runs INVALID ({codes})", "{side}：{runs} 次运行中有 {count} 次无效（INVALID，{codes}）";
        Warnings => "{side}: warnings: {codes}", "{side}：警告：{codes}";
        AndWarnings => "{invalid}; warnings: {codes}", "{invalid}；警告：{codes}";
        InSomeRuns => "{code} ({count} of {runs} runs)", "{code}（{runs} 次中 {count} 次）";
        OtherModels => "different models: {models}", "模型不同：{models}";
        OutOfMemory => "{side}: ran out of memory at {loads}", "{side}：{loads} 时显存不足";
        OtherDevices => "different cards: {devices}", "卡不同：{devices}";
        OtherLengths => "runs of different lengths ({counts} requests): start, growing queues and slow last answers weigh less in the longer ones, so a difference may be that of the lengths", "运行长度不同（请求数 {counts}）：起步、排队增长和末尾慢请求在较长的运行中影响更小，差异可能来自长度";
        WhyNot => "Not comparable", "不可比的原因";
        Unpaired => "Without a partner", "无对应的负载点";
        Metric => "metric", "指标";
        Load => "load", "负载";
        OverAllLoads => "{metric} at each load", "各负载点：{metric}";
        OverAllLoadsOf => "{metric} at each load ({shared})", "各负载点：{metric}（{shared}）";
        Change => "diff %", "变化 %";
        Interval => "95 % interval", "95 % 区间";
        Verdict => "verdict", "结论";
        Detectable => "detectable", "可辨差异";
        OverLoads => "at {count} loads", "共 {count} 个负载点";
        Remedy => "needed", "尚需";
        RequestsNeeded => "{count} requests", "{count} 个请求";
        DetailsNeeded => "details", "逐请求明细";
        NoTable => "loads that are not comparable have no table of their own: --format csv has all figures", "不可比的负载点没有单独的表格：--format csv 有全部数值";
        SaveDetails => "to decide it, save the requests one by one (vllm bench serve --save-result --save-detailed, sglang --output-details) and compare those files, or repeat the runs and compare folders of three or more", "要下结论，请保存每个请求的数据（vllm bench serve --save-result --save-detailed，sglang --output-details）再比较这些文件，或重复运行，用各含三次以上结果的文件夹比较";
        ShortRuns => "runs too short for intervals of their own: twice the error that so few and so different requests may have is assumed, so that only large differences are told", "运行太短，得不出自己的区间：按如此少且彼此不同的请求可能有的误差的两倍估计，因此只判断明显的差异";
        Legend => "times in ms; detectable: the smallest difference that this data could show (in 4 of 5 cases)", "时间单位 ms；可辨差异：现有数据能够显示的最小差异（80 % 把握）";
        NeededIs => "needed: how many runs per side, or requests per run, would decide it", "尚需：每侧需运行多少次（x）或每次需多少请求才能下结论";
        PrimaryIs => "> decides. Verdicts rest on the intervals, which hold with 95 % at all loads together for this metric, and for all the other metrics of a load together", "> 为主指标。结论以区间为准：主指标的区间以 95 % 的置信度在所有负载点上同时成立，其余指标的区间在同一负载点上同时成立";
        InPairs => "runs with the same seed, one of each side, are compared in pairs", "两侧种子相同的运行两两配对比较";
        Copies => "{group}: {runs} runs are identical to the last digit and count as {distinct}", "{group}：{runs} 次运行逐位相同，实为 {distinct} 次，只按 {distinct} 次计";
        OneRunEach => "one run each: a deviation of {share} between runs is assumed; repeat the runs to measure it", "每侧只有一次运行：假定各次运行之间相差 {share}；重复运行才能得知";
        FewSamples => "too few requests for a verdict on this percentile", "请求数不足以支撑该百分位，不下结论";
        BeyondMargin => "the interval does not contain 0 and reaches beyond the margin of {margin}", "区间不含 0，且超出容许差 {margin}";
        WideInterval => "the interval contains 0 and reaches beyond the margin of {margin}", "区间包含 0，且超出容许差 {margin}";
        WouldDecide => "would decide: {remedy}", "可下结论所需：{remedy}";
        AssumedError => "summary figures only: three times the error of independent requests is assumed, so that only large differences are told", "只有汇总数值：按独立请求误差的三倍估计，因此只判断明显的差异";
        DeviationsAlone => "summary figures only: twice the error that requests as different as the stated deviations may have is assumed, so that only clear differences are told", "只有汇总数值：按标准差所示的请求差异，以其可能误差的两倍估计，因此只判断明显的差异";
        OwnNumbers => "other numbers of the result contradict this one", "结果中的其他数值与其矛盾";
        FiguresAlone => "summary figures only: run-to-run variation is unknown", "只有汇总数值：无从得知下一次运行会相差多少";
        NoCount => "cannot tell where a side does not say how many requests it is of: add a column of requests (or of ok and failed) to its table, and large differences are told", "未说明请求数的一方无法判断：在其表格中加一列“请求数”（或“成功”“失败”），即可判断明显的差异";
        FewWaves => "too few requests for an interval, so run-to-run variation is unknown; send more requests per stream, or repeat the runs", "请求太少，得不出区间：无从得知下一次运行会相差多少；请增加每路并发的请求数，或重复运行";
        AsDefined => "numbers as defined by {tool}", "数值按 {tool} 的定义";
        Simulated => "simulated engine", "模拟引擎";
        Computed => "computed in virtual time, not measured", "以虚拟时间计算得出，并非实测";
        PartlyComputed => "partly computed in virtual time, not measured", "部分以虚拟时间计算得出，并非实测";
    }
}

inferometer_text::texts! {
    /// A metric in a narrow column of a comparison, with its unit where it is no time.
    pub enum ComparedMetric {
        OutputTokensPerS => "output tok/s", "输出 tok/s";
        RequestsPerS => "req/s", "请求 req/s";
        TotalTokensPerS => "total tok/s", "总计 tok/s";
        Mean => "{latency} mean", "{latency} 均值";
        MaxGapP99 => "max gap p99", "最大间隔 p99";
        OutputTokensPerSPerCard => "output tok/s/card", "每卡输出 tok/s";
        Goodput => "goodput/s", "达标 req/s";
        ItemsPerS => "items/s", "条目/s";
        AudioPerS => "audio s/s", "音频 s/s";
        SessionsPerHour => "sessions/h", "会话/h";
    }
}
