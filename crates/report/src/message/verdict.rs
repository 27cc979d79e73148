//! Verdicts: on a run, its objectives, and the weight of a doubt.

use inferometer_text::texts;

texts! {
    /// Verdicts and the headings over their reasons.
    pub enum VerdictText {
        /// The verdict on a run without a grave doubt.
        Valid => "VALID", "有效";
        /// The verdict on a run with one.
        Invalid => "INVALID", "无效";
        /// What `runs` says of a run that has no ending.
        Unfinished => "no end", "未结束";
        /// What is said of another tool's results.
        Foreign => "as given", "原样";
        /// The reason of a verdict without any doubt.
        NoDoubts => "nothing speaks against these numbers", "没有发现可疑之处";
        /// One warning, in the verdict.
        OneWarning => "1 warning", "1 条警告";
        /// `{count}` warnings, in the verdict.
        Warnings => "{count} warnings", "{count} 条警告";
        /// One note, in the verdict.
        OneNote => "1 note", "1 条提示";
        /// `{count}` notes, in the verdict.
        Notes => "{count} notes", "{count} 条提示";
        /// One further reason, after the first.
        OneMoreReason => "and 1 more reason", "另有 1 个原因";
        /// `{count}` further reasons, after the first.
        MoreReasons => "and {count} more reasons", "另有 {count} 个原因";
        /// The reason of an invalid run that names none.
        NoReasonStored => "no reason is stored", "未记录原因";
        /// In the verdict: all objectives were met.
        ObjectivesMet => "objectives met", "SLO 全部达标";
        /// In the verdict: `{list}` was missed.
        ObjectivesMissed => "objectives MISSED: {list}", "SLO 未达标：{list}";
        /// In the verdict: `{list}` can be called neither met nor missed.
        ObjectivesUndecided => "objectives undecided: {list}", "SLO 无法判定：{list}";
        /// In the verdict: the share of requests was missed.
        AttainmentMissed => "attainment", "达标率";
        /// Heading: objectives.
        Objectives => "Objectives", "SLO 目标";
        /// `{share}` of the requests.
        ShareOfRequests => "{share} of requests", "{share} 的请求";
        /// Met.
        Met => "met", "达标";
        /// Missed.
        Missed => "MISSED", "未达标";
        /// Neither can be said.
        Undecided => "undecided", "无法判定";
        /// `{share}` of all requests, `{asked}` asked.
        AttainmentAsked =>
            "{share} of all requests met every objective of a request ({asked} asked)",
            "{share} 的请求满足全部单请求 SLO（要求 {asked}）";
        /// Heading: failures.
        Failures => "Failures", "失败";
        /// After a failure's class: HTTP `{status}`.
        HttpStatus => "HTTP {status}", "HTTP {status}";
        /// Heading: reasons to distrust the run.
        Doubts => "Doubts", "疑点";
        /// Heading: the same where the run is invalid.
        WhyInvalid => "Why these numbers must not be used", "这些数据为何不可用";
        /// Severity: worth knowing.
        SeverityNote => "note", "提示";
        /// Severity: the numbers may mislead.
        SeverityWarn => "warn", "警告";
        /// Severity: the run is invalid.
        SeverityInvalid => "INVALID", "无效";
    }
}
