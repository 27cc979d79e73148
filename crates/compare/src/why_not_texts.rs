//! Reasons against a comparison.

inferometer_text::texts! {
    /// Why two groups may not be compared. Those that carry `{name}` are templates.
    pub enum WhyNotText {
        OneGroup => "there is nothing to compare with: give two groups or more", "没有比较对象：请给出两组或更多结果";
        NoRuns => "'{group}' has no runs", "“{group}”中没有任何运行结果";
        NothingPaired => "'{baseline}' and '{group}' have no load in common; measure both at the same loads", "“{baseline}”与“{group}”没有共同的负载点；请在相同负载下测量两者";
        OtherSettings => "'{baseline}' and '{group}' have loads in common, but with other settings or names: {a} against {b}; select parts that differ in nothing else, as in FILE@max-num-seqs=16 or FILE#HEADING, or measure both alike", "“{baseline}”与“{group}”有相同的负载点，但参数或名称不同：{a} 对 {b}；请选出其他方面相同的部分，如 FILE@max-num-seqs=16 或 FILE#标题，或以相同参数测量";
        NoneStated => "none of these", "均未说明";
        DifferentLoad => "the loads differ: {a} against {b}", "负载不同：{a} 对 {b}";
        Invalid => "at {point}: '{group}' has INVALID runs ({codes})", "{point}：“{group}”有无效（INVALID）的运行（{codes}）";
        OtherGroups => "'{baseline}' and '{group}' have loads in common, but under other headings: {a} against {b}; name one of each, as in FILE#{of_a} and FILE#{of_b}", "“{baseline}”与“{group}”有相同的负载点，但所在标题不同：{a} 对 {b}；请两侧各指定一组，如 FILE#{of_a} 与 FILE#{of_b}";
        Failures => "at {point}: failed requests differ: {a} against {b}; who refuses some serves the others faster", "{point}：失败请求数不同：{a} 对 {b}；拒绝部分请求的一侧处理其余请求会更快";
        Differs => "at {point}: {what} differs: {a} against {b}", "{point}：{what}不同：{a} 对 {b}";
        NotStated => "not stated ({count} answered)", "未说明（成功 {count} 个）";
        OneSeed => "; send both sides the same with one --seed, or measure three runs or more of each side with seeds of their own and compare the folders", "；请两侧使用相同的 --seed，或两侧各用不同种子运行三次以上，再比较各自的文件夹";
        SameLengths => "; make them equal (--output-tokens with --ignore-eos), or measure both sides with the same --seed", "；请使长度一致（--output-tokens 与 --ignore-eos），或两侧使用相同的 --seed";
        SameInputs => "; send the same prompts to both sides (--data and --seed, or --input-tokens)", "；请向两侧发送相同的提示词（--data 与 --seed，或 --input-tokens）";
        SameDefinition => "; compare with what `inferometer report RUN --dialect TOOL --format json` says of our run", "；可与 `inferometer report RUN --dialect TOOL --format json` 按对方定义给出的结果比较";
        AndOneMore => "{point} (and one more load)", "{point}（及另外 1 个负载点）";
        AndMore => "{point} (and {count} more loads)", "{point}（及另外 {count} 个负载点）";
        OneTool => "; compare by what all tools mean alike (output tok/s, requests/s, in a closed loop the mean latency: see --primary), or measure both with one tool", "；请按各工具定义一致的指标比较（输出 tok/s、每秒请求数，闭环负载下还有平均时延，见 --primary），或用同一工具测量两边";
        Definition => "the definition of the metrics", "指标定义";
        Window => "the time over which throughput counts", "吞吐量的统计区间";
        TokenSource => "the source of token counts", "token 计数来源";
        Streaming => "streaming", "是否流式输出";
        LatencyFrom => "the moment from which latency counts", "时延起算时刻";
        Work => "the work", "请求内容";
        Seed => "the seed of prompts and arrivals", "提示词与到达时刻的随机种子";
        OutputTokens => "the mean output length in tokens", "平均输出 token 数";
        InputChars => "the mean prompt length in characters", "平均输入字符数";
        InputTokens => "the mean prompt length in tokens", "平均输入 token 数";
    }
}
