//! Why numbers were not read.

inferometer_text::texts! {
    /// Reasons for which a number of another tool is in no result.
    pub enum UnreadText {
        UnknownName => "the name is not known", "名称未知";
        NoCounterpart => "a summary has no place for it", "摘要中没有对应项";
        NotAnswered => "of requests that were not answered", "属于未成功的请求";
        PerRequest => "of single requests", "属于单个请求";
        NotMeasured => "not measured: a setting or a time of day", "不是测量值：为设置或时刻";
        Change => "a change against another result", "相对其他结果的变化";
        NotANumber => "not a number", "不是数值";
        DoesNotFit => "its unit or value does not fit its name", "单位或数值与名称不符";
        WarmUp => "of the warm-up", "属于预热阶段";
        SeveralRuns => "of several runs together", "由多次运行合并得出";
        TooMany => "too many numbers", "数值过多";
    }
}
