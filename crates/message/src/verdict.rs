//! Verdicts: on a run, its objectives, and the weight of a doubt.

use inferometer_text::texts;

texts! {
    pub enum VerdictText {
        Valid => "VALID", "有效";
        Invalid => "INVALID", "无效";
        Better => "BETTER", "更好";
        Worse => "WORSE", "更差";
        Same => "NO DIFFERENCE", "无差异";
        CannotTell => "CANNOT TELL", "无法判断";
        Unfinished => "no end", "未结束";
        NothingFound => "NOTHING FOUND", "无结果";
        ComputedGain => "COMPUTED GAIN", "计算得出的提升";
        NoCertainGain => "NO CERTAIN GAIN", "无确定提升";
        TradeOff => "TRADE-OFF", "有得有失";
        DefaultBest => "DEFAULT IS BEST", "默认配置最佳";
        OnlyDefault => "ONLY THE DEFAULT", "仅默认配置可用";
        DefaultMisses => "DEFAULT MISSES THE SLO", "默认配置未满足 SLO";
        ComputedMisses => "DEFAULT MISSES THE SLO (COMPUTED)", "默认配置未满足 SLO（计算得出）";
        DefaultFails => "DEFAULT DOES NOT START", "默认配置无法启动";
        Unconfirmed => "UNCONFIRMED", "未经确认";
        Running => "running", "进行中";
        Damaged => "DAMAGED", "已损坏";
        Newer => "newer version", "版本较新";
        Foreign => "as given", "原样";
        Doubtful => "DOUBTFUL", "有疑点";
        NoDoubts => "no doubts about these numbers", "没有发现可疑之处";
        OneWarning => "1 warning", "1 条警告";
        Warnings => "{count} warnings", "{count} 条警告";
        OneNote => "1 note", "1 条提示";
        Notes => "{count} notes", "{count} 条提示";
        OneMoreReason => "and 1 more reason", "另有 1 个原因";
        MoreReasons => "and {count} more reasons", "另有 {count} 个原因";
        NoReasonStored => "no reason is stored", "未记录原因";
        ObjectivesMet => "objectives met", "SLO 全部达标";
        ObjectivesMissed => "objectives MISSED: {list}", "SLO 未达标：{list}";
        ObjectivesUndecided => "objectives undecided: {list}", "SLO 无法判定：{list}";
        AttainmentMissed => "attainment", "达标率";
        Objectives => "Objectives", "SLO 目标";
        ShareOfRequests => "{share} of requests", "{share} 的请求";
        ShareOfSessions => "{share} of sessions", "{share} 的会话";
        Met => "met", "达标";
        Missed => "MISSED", "未达标";
        MissedByFailures => "missed: failed requests count as longer", "未达成：失败请求按超限计";
        SeenOfAnswers => "{seen} of complete answers, but failed requests count as longer", "成功请求为 {seen}，但失败请求按超限计";
        Undecided => "undecided", "无法判定";
        AttainmentAsked =>
            "{share} of all requests met every per-request objective ({asked} asked)",
            "{share} 的请求满足全部单请求 SLO（要求 {asked}）";
        JobsAsked =>
            "{share} of {count} sessions were complete in time ({asked} asked); {goodput} per hour",
            "{count} 个会话中 {share} 按时完成（要求 {asked}）；每小时 {goodput} 个";
        AttainmentBetween =>
            "{met}; 95 % interval {low} – {high}",
            "{met}；95 % 区间 {low} – {high}";
        Failures => "Failures", "失败";
        HttpStatus => "HTTP {status}", "HTTP {status}";
        Doubts => "Doubts", "疑点";
        WhyInvalid => "Why these numbers must not be used", "这些数据为何不可用";
        SeverityNote => "note", "提示";
        SeverityWarn => "warn", "警告";
        SeverityInvalid => "INVALID", "无效";
    }
}
