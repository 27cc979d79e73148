//! What reports of a study of launch flags say.

use inferometer_text::texts;

texts! {
    /// A text of a study's report.
    pub enum StudyText {
        Better => "BETTER", "有提升";
        NoGain => "NO CERTAIN GAIN", "无确定提升";
        DefaultBest => "DEFAULT IS BEST", "默认配置最佳";
        Unconfirmed => "UNCONFIRMED", "未经确认";
        Nothing => "NOTHING FOUND", "无结果";
        TradeOff => "TRADE-OFF", "有得有失";
        /// Verdict: the default is not good enough, and another setting is.
        DefaultMisses => "DEFAULT MISSES THE SLO", "默认配置未满足 SLO";
        Change => "{metric} {value} (95 %: {low} to {high})", "{metric} {value}（95 %：{low} 至 {high}）";
        Gain => "{changes} against the default, {repeats} starts each", "相对默认配置：{changes}，各重启 {repeats} 次";
        Traded => "trial {trial} against the default is better in one and worse in another: {changes}, {repeats} starts each", "试验 {trial} 相对默认配置互有优劣：{changes}，各重启 {repeats} 次";
        BestThatMeets => "the best that meets it is trial {trial}: {changes} against the default, {repeats} starts each", "满足 SLO 的最优配置为试验 {trial}：相对默认配置 {changes}，各重启 {repeats} 次";
        DefaultWon => "no setting that met the goal in {repeats} fresh starts was better than the default", "重启 {repeats} 次均达标的配置中，没有一个优于默认配置";
        RunnerUp => "the default came first; the best other setting: {changes}, {repeats} starts each", "默认配置居首；其余最优配置相对它 {changes}，各重启 {repeats} 次";
        NothingElse => "only the default could be measured and met the goal", "除默认配置外，没有配置既测得有效结果又达标";
        NoDefault => "the default was not measured validly in every start, so no gain can be stated", "默认配置未能每次启动都测得有效结果，因此无法给出提升";
        NoneHeld => "none of the best was measured validly and met the SLO in each of {repeats} fresh starts", "最优的几个配置在 {repeats} 次重启中均未能每次有效且满足 SLO";
        OneTrial => "the best of single trials, not yet repeated; run the same command again to finish", "单次试验中的最优，尚未重复验证；再次运行同一命令即可完成";
        NoneMet => "no trial was measured validly and met the SLOs", "没有试验既测得有效结果又满足 SLO";
        Goal => "Goal", "目标";
        Maximize => "maximize {path}", "最大化 {path}";
        Minimize => "minimize {path}", "最小化 {path}";
        Limits => "SLO", "SLO";
        Trials => "Trials", "试验";
        Counts => "{all}: {done} measured, {failed} failed, {stopped} stopped early, {repeats} repeats", "共 {all} 次：测得 {done}，失败 {failed}，提前终止 {stopped}，重复 {repeats}";
        BestCommand => "Best (trial {trial})", "最佳（试验 {trial}）";
        /// Keys of the best configuration, for an engine that reads a file.
        BestKeys => "Best values of the configuration file (trial {trial})", "配置文件的最佳取值（试验 {trial}）";
        Pareto => "Pareto front", "Pareto 前沿";
        Importance => "Which flags matter", "各参数的影响";
        Flag => "flag", "参数";
        Share => "share", "占比";
        Effect => "effect", "方向";
        BestAt => "best at", "最佳取值";
        Rises => "the larger the better", "越大越好";
        Falls => "the smaller the better", "越小越好";
        Mixed => "best in between, or none", "居中最佳或无明显方向";
        Choice => "one is better", "某一取值更优";
        NoEffect => "none seen", "未见影响";
        NotVaried => "not varied", "未改变取值";
        ImportanceOf => "What moves {path}, the first of the objectives", "针对第一个目标 {path}";
        AmongMet => "Of the {count} trials that met the SLOs only: a flag that made others miss them may matter nonetheless", "仅统计满足 SLO 的 {count} 次试验：导致其他试验未达标的参数未必不重要";
        ChangedTogether => "{flags} changed together in these trials, so their effects cannot be separated", "{flags} 在这些试验中同时改变，无法区分究竟是哪一个起作用";
        Failures => "Failed trials by class", "失败试验分类";
        Class => "class", "类别";
        Count => "trials", "次数";
        Words => "engine's message", "引擎原文";
        AllTrials => "All trials", "全部试验";
        Id => "trial", "试验";
        Why => "why", "来源";
        State => "state", "状态";
        ValuesOf => "Values of {flags}, in this order", "取值依次为 {flags}";
        Values => "values", "取值";
        Flags => "flags", "参数取值";
        FailedRequests => "failed req", "失败请求";
        AtLoad => "at {load}", "并发 {load}";
        MeanOfLoads => "With several loads, a figure is the geometric mean over them, followed by the figure at each load; a limit's figure is that of the worst load.", "多个负载下的数值为各负载数值的几何平均，其后列出各负载的数值；SLO 一列取最差负载的数值。";
        Memory => "device GiB", "显存 GiB";
        Default => "default", "默认";
        Preset => "preset {name}", "预设 {name}";
        Searched => "search", "搜索";
        Again => "repeat of {of}", "重复 {of}";
        Done => "done", "完成";
        SloMissed => "SLO missed", "未满足 SLO";
        Invalid => "invalid", "无效";
        Refused => "refused", "被拒绝";
        Crashed => "crashed", "崩溃";
        Timeout => "timeout", "超时";
        Stopped => "stopped", "提前终止";
        History => "Search history", "搜索过程";
        Slices => "Each flag by itself", "单个参数的影响";
        Parallel => "All flags together", "平行坐标图";
        BestSoFar => "best so far", "当前最佳";
        FreshStarts => "fresh starts", "重启复测";
        FailedAtZero => "failed (drawn at 0)", "失败（画在 0 处）";
        FailedTrials => "failed", "失败";
        BestQuarter => "best quarter", "最佳四分之一";
        OtherTrials => "other trials", "其他试验";
        ParallelNote => "A line is a trial; the lowest and highest values of each flag are at the bottom and top. The default, which sets no flag, is not drawn.", "每条线为一次试验；各参数的最小值与最大值分别标在底部与顶部。默认配置未设参数，故不画出。";
        MoreFlags => "Not drawn, since they matter least: {flags}", "影响最小、未画出的参数：{flags}";
        FirstOf => "The first {shown} of {all} trials are drawn.", "仅画出 {all} 次试验中的前 {shown} 次。";
        Title => "Study of launch flags", "启动参数调优报告";
        ChangeName => "{metric} against the default", "{metric}（相对默认）";
        GainInterval => "95 % interval", "95 % 区间";
        BestFigure => "Best: {path}", "最佳：{path}";
        Saved => "Saved in", "保存于";
    }
}
