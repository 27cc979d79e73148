//! What an import had to assume.

inferometer_text::texts! {
    /// Assumptions about results of other tools.
    pub enum AssumptionText {
        Unit => "`{name}` has no unit: read as {unit}", "“{name}”未写单位：按{unit}读取";
        Seconds => "seconds", "秒";
        Milliseconds => "milliseconds", "毫秒";
        PrefillIsTtft => "`{name}` is the time of the prefill: read as time to first token", "“{name}”为预填充耗时：按首 token 时延（TTFT）读取";
        TotalIsOutput => "`{name}` stands beside the speed of one user: read as output throughput", "“{name}”与单路速度并列：按输出吞吐量读取";
        PercentileOfLatency => "`{name}` names no metric: read as latency", "“{name}”未写明指标：按端到端时延读取";
        RowsByColumns => "`{name}`: rows read as the first of the two, columns as the second", "“{name}”：行按前者、列按后者读取";
        LengthOfAnswers => "`{name}` is another in few rows only: read as the mean length of the answers", "“{name}”仅个别行不同：按实际回答的平均长度读取";
        DefaultPrompts => "--num-prompts is not given: its default of {count}", "未给出 --num-prompts：按默认值 {count}";
        TpotOfMeans => "mean TPOT is derived: (mean latency − mean TTFT) / (mean answer − 1 tokens)", "平均 TPOT 为推算值：（平均时延 − 平均 TTFT）÷（平均输出 token 数 − 1）";
        RequestsInWords => "the number of requests is that of the words “{text}”", "请求数取自说明“{text}”";
        DefaultRate => "--request-rate is not given: its default of inf", "未给出 --request-rate：按默认值 inf";
    }
}
