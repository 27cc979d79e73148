//! What reports of sweeps say.

inferometer_text::texts! {
    pub enum SweepText {
        Sweep => "Sweep", "扫描";
        Axes => "Varied", "变化项";
        PointsRepeated => "{count} points, each measured {repeat} times", "{count} 个测点，每个测 {repeat} 次";
        PointsSeeded => "points: {count}, each measured {repeat} times, with the seeds {seeds}", "测点：{count}，每个测 {repeat} 次，种子为 {seeds}";
        Points => "points: {count}", "测点：{count}";
        Confounded => "Confounded", "混杂";
        ChangesWith => "{b} changes only together with {a}: differences cannot be attributed to either", "{b} 只随 {a} 一起变化：差异无法归因于其中某一项";
        Measured => "Measured", "已测";
        Tally => "{done} of {planned}; valid: {valid}, invalid: {invalid}, failed to run: {failed}, skipped: {skipped}", "{done}/{planned}；有效 {valid}，无效 {invalid}，未能运行 {failed}，跳过 {skipped}";
        MeasuredValid => "every measured point is valid", "已测的测点均有效";
        SkippedOf => "{count} of {all} skipped", "{all} 个中跳过 {count} 个";
        RefusedOf => "{count} of {all} refused by the engine", "{all} 个中有 {count} 个被引擎拒绝";
        RefusedStart => "refused", "引擎拒绝";
        WouldRefuse => "{engine} would refuse this command: {message}", "{engine} 会拒绝这条命令：{message}";
        AllValid => "every point is valid", "所有测点均有效";
        ValidButDoubtful => "every measured point is valid, {count} with failures or other work than asked", "已测的测点均有效，其中 {count} 个有失败请求或工作量与要求不符";
        SomeInvalid => "{count} of {all} measurements are invalid or failed", "{all} 次测量中有 {count} 次无效或失败";
        Lost => "{count} of {all} measurements were made and can no longer be read: `inferometer verify` says why", "{all} 次测量中有 {count} 次已完成但无法再读取：`inferometer verify` 会说明原因";
        NothingMeasured => "no point could be measured", "没有一个测点完成测量";
        Incomplete => "{count} of {all} measurements remain", "{all} 次测量中还有 {count} 次未做";
        MissesObjectives => "objectives MISSED at {count} of {all} points", "{all} 个测点中有 {count} 个未达 SLO";
        Table => "Points", "测点";
        Failed => "failed", "失败";
        OkRate => "ok %", "成功率 %";
        AskedChars => "asked chars", "要求字符数";
        ActualChars => "actual chars", "实际字符数";
        Refused => "refused", "拒答";
        VeryShort => "very short", "过短";
        VeryShortMeans => "actual chars: mean of the complete answers; refused: answers that open like a refusal; very short: less than a tenth of what was asked", "实际字符数：完整回答的均值；拒答：开头像拒绝的回答；过短：不到要求长度十分之一的回答";
        AnswerLengths => "Asked and actual lengths", "要求与实际长度";
        AnswerLengthsOf => "Asked and actual lengths ({setting})", "要求与实际长度（{setting}）";
        PerCard => "tok/s per card", "单卡 tok/s";
        Repeats => "n", "次数";
        Spread => "±", "±";
        Invalid => "INVALID", "无效";
        NotRun => "failed", "未运行";
        Skipped => "skipped", "跳过";
        Interrupted => "stopped", "中断";
        NotComparable => "doubtful", "存疑";
        SloMissed => "SLO missed", "未达 SLO";
        Misses => "{point}: misses {list}", "{point}：未达 {list}";
        TimesInMs => "times in ms", "时间单位 ms";
        MeanLengths => "mean input tokens: {input}; mean output tokens: {output}", "平均输入 token：{input}；平均输出 token：{output}";
        SpreadMeans => "±: half of the 95 % interval of tok/s over the repeats, in %; other figures are means over them", "±：多次测量 tok/s 的 95 % 置信区间半宽（%）；其余为各次均值";
        Because => "{point}: {why}", "{point}：{why}";
        EveryPoint => "every point", "全部测点";
        MoreReasons => "and {count} more", "另有 {count} 个";
        Saved => "Saved in", "保存于";
        GoOn => "Continue with", "继续";
        GoOnHow => "the same command with --out {path}", "用同样的命令加 --out {path}";
        Best => "Best", "最佳";
        MostTokens => "highest output throughput: {value} at {point}", "输出吞吐量最高：{value}，测点 {point}";
        MoreNotCounted => "higher, but with failures or other work than asked, so not counted: {value} at {point}", "更高，但有失败请求或工作量与要求不符，不计入：{value}，测点 {point}";
        MoreUnheld => "higher, but measured too briefly, with idle streams, or in waves: {value} at {point}", "更高，但测量时间过短、并发未满或请求成批发出：{value}，测点 {point}";
        MostWithinSlo => "highest within the objectives: {value} at {point}", "满足目标时最高：{value}，测点 {point}";
    }
}
