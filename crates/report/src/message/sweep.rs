//! What reports of sweeps say.

inferometer_text::texts! {
    /// A text of a sweep's report.
    pub enum SweepText {
        /// Key: name of the sweep.
        Sweep => "Sweep", "扫描";
        /// Key: what is varied.
        Axes => "Varied", "变化项";
        /// `{count}` points and `{repeat}` repeats.
        PointsRepeated => "{count} points, each measured {repeat} times", "{count} 个测点，每个测 {repeat} 次";
        /// `{count}` points.
        Points => "points: {count}", "测点：{count}";
        /// Key: axes that cannot be told apart.
        Confounded => "Confounded", "混杂";
        /// `{b}` never changes without `{a}`.
        ChangesWith => "{b} changes only together with {a}: what differs cannot be ascribed to one of them", "{b} 只随 {a} 一起变化：差异无法归因于其中某一项";
        /// Key: the points that were measured.
        Measured => "Measured", "已测";
        /// What became of the visits.
        Tally => "{done} of {planned}; valid: {valid}, invalid: {invalid}, failed to run: {failed}, passed over: {skipped}", "{done}/{planned}；有效 {valid}，无效 {invalid}，未能运行 {failed}，跳过 {skipped}";
        /// Verdict: all visits are valid.
        AllValid => "every point is valid", "所有测点均有效";
        /// Verdict: some are not.
        SomeInvalid => "{count} of {all} measurements are invalid or failed", "{all} 次测量中有 {count} 次无效或失败";
        /// Verdict: nothing was measured.
        NothingMeasured => "no point could be measured", "没有一个测点完成测量";
        /// Verdict: more is planned.
        Incomplete => "{count} of {all} measurements are still to be made", "{all} 次测量中还有 {count} 次未做";
        /// Verdict: objectives.
        MissesObjectives => "objectives MISSED at {count} of {all} points", "{all} 个测点中有 {count} 个未达 SLO";
        /// Heading of the table.
        Table => "Points", "测点";
        /// Column: failures.
        Failed => "failed", "失败";
        /// Column: output tokens a second, by the number of cards.
        PerCard => "tok/s per card", "单卡 tok/s";
        /// Column: repeats.
        Repeats => "n", "次数";
        /// Column: half of the interval of the throughput.
        Spread => "±", "±";
        /// Mark of an invalid point.
        Invalid => "INVALID", "无效";
        /// Mark of a failed point.
        NotRun => "failed", "未运行";
        /// Mark of a point that was passed over.
        Skipped => "skipped", "跳过";
        /// Mark of an interrupted point.
        Interrupted => "stopped", "中断";
        /// Mark of a point that misses objectives.
        SloMissed => "SLO missed", "未达 SLO";
        /// Footnote: what a point misses.
        Misses => "{point}: misses {list}", "{point}：未达 {list}";
        /// Footnote: the unit of latencies.
        TimesInMs => "times in ms", "时间单位 ms";
        /// Footnote: mean lengths.
        MeanLengths => "mean input tokens: {input}; mean output tokens: {output}", "平均输入 token：{input}；平均输出 token：{output}";
        /// Footnote: what ± is.
        SpreadMeans => "±: half of the 95 % interval of tok/s over the repeats, in %; other figures are means over them", "±：多次测量 tok/s 的 95 % 置信区间半宽（%）；其余为各次均值";
        /// Footnote: why a point is marked.
        Because => "{point}: {why}", "{point}：{why}";
        /// The points of a doubt, where it is all of them.
        EveryPoint => "every point", "全部测点";
        /// Footnote: further reasons.
        MoreReasons => "and {count} more", "另有 {count} 个";
        /// Key: where it is kept.
        Saved => "Saved in", "保存于";
        /// Key: how to go on.
        GoOn => "Go on with", "继续";
        /// The same command with the same folder.
        GoOnHow => "the same command with --out {path}", "用同样的命令加 --out {path}";
        /// Heading: the best points.
        Best => "Best", "最佳";
        /// The highest throughput.
        MostTokens => "most output tokens a second: {value} at {point}", "输出吞吐量最高：{value}，测点 {point}";
        /// The highest throughput that meets the objectives.
        MostWithinSlo => "the same within the objectives: {value} at {point}", "满足目标时最高：{value}，测点 {point}";
    }
}
