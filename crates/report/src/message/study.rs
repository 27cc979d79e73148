//! What reports of a study of launch flags say.

use inferometer_text::texts;

texts! {
    /// A text of a study's report.
    pub enum StudyText {
        /// Verdict: the gain is certain.
        Better => "BETTER", "有提升";
        /// Verdict: nothing certain.
        NoGain => "NO CERTAIN GAIN", "无确定提升";
        /// Verdict: the default is best.
        DefaultBest => "DEFAULT IS BEST", "默认配置最佳";
        /// Verdict: no last stage.
        Unconfirmed => "UNCONFIRMED", "未经确认";
        /// Verdict: nothing was found.
        Nothing => "NOTHING FOUND", "无结果";
        /// Verdict: better in one objective, worse in another.
        TradeOff => "TRADE-OFF", "有得有失";
        /// Verdict: the default is not good enough, and another setting is.
        DefaultMisses => "DEFAULT MISSES THE SLO", "默认配置未满足 SLO";
        /// The change of one figure with its interval.
        Change => "{metric} {value} (95 %: {low} to {high})", "{metric} {value}（95 %：{low} 至 {high}）";
        /// The best against the default.
        Gain => "{changes} against the default, {repeats} starts each", "相对默认配置：{changes}，各重启 {repeats} 次";
        /// Better in one objective, worse in another.
        Traded => "trial {trial} against the default is better in one and worse in another: {changes}, {repeats} starts each", "试验 {trial} 相对默认配置互有优劣：{changes}，各重启 {repeats} 次";
        /// The best that meets the SLO.
        BestThatMeets => "the best that meets it is trial {trial}: {changes} against the default, {repeats} starts each", "满足 SLO 的最优配置为试验 {trial}：相对默认配置 {changes}，各重启 {repeats} 次";
        /// The default won.
        DefaultWon => "no setting that met the goal in {repeats} fresh starts was better than the default", "重启 {repeats} 次均达标的配置中，没有一个优于默认配置";
        /// The default came out first, against the next.
        RunnerUp => "the default came first; the best other setting: {changes}, {repeats} starts each", "默认配置居首；其余最优配置相对它 {changes}，各重启 {repeats} 次";
        /// Only the default could be measured.
        NothingElse => "nothing but the default could be measured and met the goal", "除默认配置外，没有配置既测得有效结果又达标";
        /// The default could not be measured.
        NoDefault => "the default has no valid measurement in every start, so there is no gain to state", "默认配置未能每次启动都测得有效结果，因此无法给出提升";
        /// The fresh starts disappointed.
        NoneHeld => "none of the best was measured validly and met the SLO in each of {repeats} fresh starts", "最优的几个配置在 {repeats} 次重启中均未能每次有效且满足 SLO";
        /// The best of noisy trials.
        OneTrial => "the best of single trials, not yet repeated; run the same command again to finish", "单次试验中的最优，尚未重复验证；再次运行同一命令即可完成";
        /// No trial will do.
        NoneMet => "no trial was measured validly and met the SLOs", "没有试验既测得有效结果又满足 SLO";
        /// Key: what is wanted.
        Goal => "Goal", "目标";
        /// Towards more.
        Maximize => "maximize {path}", "最大化 {path}";
        /// Towards less.
        Minimize => "minimize {path}", "最小化 {path}";
        /// Key: the limits.
        Limits => "SLO", "SLO";
        /// Key: how many.
        Trials => "Trials", "试验";
        /// Counts by state.
        Counts => "{all}: {done} measured, {failed} failed, {stopped} stopped early, {repeats} repeats", "共 {all} 次：测得 {done}，失败 {failed}，提前终止 {stopped}，重复 {repeats}";
        /// Caption of the best command.
        BestCommand => "Best (trial {trial})", "最佳（试验 {trial}）";
        /// Keys of the best configuration, for an engine that reads a file.
        BestKeys => "Best values of the configuration file (trial {trial})", "配置文件的最佳取值（试验 {trial}）";
        /// Heading: the Pareto front.
        Pareto => "Pareto front", "Pareto 前沿";
        /// Heading: importance.
        Importance => "Which flags matter", "各参数的影响";
        /// Column: a flag.
        Flag => "flag", "参数";
        /// Column: its share.
        Share => "share", "占比";
        /// Column: its direction.
        Effect => "effect", "方向";
        /// Column: its best value.
        BestAt => "best at", "最佳取值";
        /// Effect.
        Rises => "the larger the better", "越大越好";
        /// Effect.
        Falls => "the smaller the better", "越小越好";
        /// Effect.
        Mixed => "best in between, or none", "居中最佳或无明显方向";
        /// Effect.
        Choice => "one is better", "某一取值更优";
        /// Effect.
        NoEffect => "none seen", "未见影响";
        /// Effect.
        NotVaried => "not varied", "未改变取值";
        /// Footnote: the objective that the shares are of.
        ImportanceOf => "What moves {path}, the first of the objectives", "针对第一个目标 {path}";
        /// Footnote: what the shares are asked of.
        AmongMet => "Asked of the {count} trials that met the SLOs: a flag by which others missed them may matter none the less", "仅统计满足 SLO 的 {count} 次试验：导致其他试验未达标的参数未必不重要";
        /// Footnote: flags that cannot be told apart.
        ChangedTogether => "{flags} changed together in these trials, so that it cannot be told which of them matters", "{flags} 在这些试验中同时改变，无法区分究竟是哪一个起作用";
        /// Heading: failures.
        Failures => "Failed trials by class", "失败试验分类";
        /// Column: class.
        Class => "class", "类别";
        /// Column: number.
        Count => "trials", "次数";
        /// Column: the engine's words.
        Words => "the engine's words", "引擎原文";
        /// Heading: the table of trials.
        AllTrials => "All trials", "全部试验";
        /// Column: number of a trial.
        Id => "trial", "试验";
        /// Column: why it was tried.
        Why => "why", "来源";
        /// Column: how it ended.
        State => "state", "状态";
        /// Footnote: what the short column holds.
        ValuesOf => "Values of {flags}, in this order", "取值依次为 {flags}";
        /// Column: values of the flags.
        Values => "values", "取值";
        /// Column: flags.
        Flags => "flags", "参数取值";
        /// Column: requests that failed.
        FailedRequests => "failed req", "失败请求";
        /// Column: a figure at one load.
        AtLoad => "at {load}", "并发 {load}";
        /// Footnote: what the figure of several loads is.
        MeanOfLoads => "A figure over several loads is the geometric mean of those at the loads, which stand behind it; a limit's figure is that of the worst load.", "多个负载下的数值为各负载数值的几何平均，其后列出各负载的数值；SLO 一列取最差负载的数值。";
        /// Column: device memory.
        Memory => "device GiB", "显存 GiB";
        /// Origin.
        Default => "default", "默认";
        /// Origin.
        Preset => "preset {name}", "预设 {name}";
        /// Origin.
        Searched => "search", "搜索";
        /// Origin.
        Again => "again {of}", "重复 {of}";
        /// State.
        Done => "done", "完成";
        /// State: measured, and not good enough.
        SloMissed => "SLO missed", "未满足 SLO";
        /// State: measured, and not to be trusted.
        Invalid => "invalid", "无效";
        /// State.
        Refused => "refused", "被拒绝";
        /// State.
        Crashed => "crashed", "崩溃";
        /// State.
        Timeout => "timeout", "超时";
        /// State.
        Stopped => "stopped", "提前终止";
        /// Figure: the trials one after the other.
        History => "Course of the search", "搜索过程";
        /// Figure: every flag by itself.
        Slices => "Every flag by itself", "单个参数的影响";
        /// Figure: parallel coordinates.
        Parallel => "All flags together", "平行坐标图";
        /// Legend.
        BestSoFar => "best so far", "当前最佳";
        /// Legend.
        FreshStarts => "fresh starts", "重启复测";
        /// Legend: failed trials have no figure.
        FailedAtZero => "failed (drawn at 0)", "失败（画在 0 处）";
        /// Legend.
        FailedTrials => "failed", "失败";
        /// Legend.
        BestQuarter => "best quarter", "最佳四分之一";
        /// Legend.
        OtherTrials => "other trials", "其他试验";
        /// Footnote of parallel coordinates.
        ParallelNote => "A line is a trial; the least and the greatest value of each flag stand at the foot and at the top. The default, which sets no flag, is not drawn.", "每条线为一次试验；各参数的最小值与最大值分别标在底部与顶部。默认配置未设参数，故不画出。";
        /// Footnote: flags without a panel.
        MoreFlags => "Not drawn, since they matter least: {flags}", "影响最小、未画出的参数：{flags}";
        /// Footnote: trials that are not drawn.
        FirstOf => "The first {shown} of {all} trials are drawn.", "仅画出 {all} 次试验中的前 {shown} 次。";
        /// Title of the page.
        Title => "Study of launch flags", "启动参数调优报告";
        /// Headline: the change of a figure.
        ChangeName => "{metric} against the default", "{metric}（相对默认）";
        /// Headline: its interval.
        GainInterval => "95 % interval", "95 % 区间";
        /// Headline: what the best reached.
        BestFigure => "Best: {path}", "最佳：{path}";
        /// Key: where it is kept.
        Saved => "Saved in", "保存于";
    }
}
