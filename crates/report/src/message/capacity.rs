//! What reports of a search for capacity say.

use inferometer_text::texts;

texts! {
    /// A text of a capacity report.
    pub enum CapacityText {
        /// Verdict: there is an answer.
        Found => "CAPACITY", "容量";
        /// Verdict: there is none.
        NotFound => "NO CAPACITY", "无结论";
        /// The answer with its interval.
        Answer => "{value} {unit}; 90 % interval {low} – {high}", "{value} {unit}；90 % 区间 {low} – {high}";
        /// The answer without an upper end.
        AtLeast => "at least {value} {unit}: every load up to there met the objectives", "至少 {value} {unit}：直到该负载均满足目标";
        /// No load met the objectives.
        NeverMet => "no load down to {high} {unit} met the objectives", "负载低至 {high} {unit} 仍不满足目标";
        /// The sample is too small.
        TooFew => "the last run is too short for this percentile: it needs {needs} requests (give --budget more)", "最后一次运行样本太少，该分位数需要 {needs} 个请求（请增大 --budget）";
        /// The budget is spent.
        BudgetSpent => "the budget of requests was spent before the interval was narrow; give --budget more", "请求预算用尽时区间仍不够窄；请增大 --budget";
        /// Long runs kept moving the answer.
        Unconfirmed => "long runs at the answer kept moving it; the server may drift", "在该负载下的长时间运行不断改变结论，服务端可能存在漂移";
        /// Long runs missed the objectives.
        Missed => "the long run at {level} {unit} missed the objective: {within} of its requests were within the limit, and {asked} must be", "在 {level} {unit} 下的长时间运行未满足目标：{within} 的请求达标，要求 {asked}";
        /// The user stopped it.
        Interrupted => "the search was stopped by the user", "搜索被用户中止";
        /// What is known without an answer.
        SoFar => "so far it seems to lie between {low} and {high} {unit}", "目前看来介于 {low} 与 {high} {unit} 之间";
        /// The same where nothing was missed.
        SoFarMet => "the objectives were met up to {low} {unit}", "直到 {low} {unit} 均满足目标";
        /// The same where nothing was met.
        SoFarMissed => "the objectives were missed from {high} {unit} on", "从 {high} {unit} 起不满足目标";
        /// Key: what a long run says.
        Confirmed => "Confirmed", "确认";
        /// A long run agreed.
        ConfirmedBy => "by a run of {requests} requests at {level} {unit}, which met the objectives", "由 {level} {unit} 下 {requests} 个请求的运行确认，该运行满足目标";
        /// Key: objectives.
        Objectives => "Objectives", "目标";
        /// Key: the binding one.
        Binding => "Missed first", "最先不满足";
        /// Key: the edge.
        Edge => "Beyond it", "超过之后";
        /// A slope.
        Slope => "a slope: a little more load misses a little more", "缓坡：负载略增，达标率略降";
        /// A cliff.
        Cliff => "a cliff: 5 % more load misses most of what was met", "断崖：负载再增 5 %，大部分请求即不达标";
        /// Key: the cost.
        Spent => "Spent", "开销";
        /// Requests and probes.
        SpentOn => "{requests} requests in {probes} probes", "{requests} 个请求，{probes} 次探测";
        /// Heading: the tiers.
        Tiers => "Tiers", "档位";
        /// Column: a tier.
        Tier => "tier", "档位";
        /// Heading: the probes.
        Probes => "Probes", "探测";
        /// Column: why it was made.
        Purpose => "why", "目的";
        /// Column: requests.
        Requests => "requests", "请求数";
        /// Column: what it said.
        Said => "objectives", "目标";
        /// Purpose.
        Bracket => "bracket", "定界";
        /// Purpose.
        Bisect => "bisect", "二分";
        /// Purpose.
        Confirm => "confirm", "确认";
        /// What a probe showed.
        Met => "met", "满足";
        /// What a probe showed.
        ProbeMissed => "missed", "未满足";
        /// What a probe showed.
        Undecided => "undecided", "未判定";
        /// Under the table: what the words mean.
        ProbesShow => "met, missed: whether the probe's requests met the objectives; those at a load near the capacity go either way", "满足、未满足：该次探测的请求是否满足目标；接近容量时两种结果都可能出现";
        /// Heading: the confirming run.
        AtTheAnswer => "The run at the answer", "该负载下的运行";
        /// Column: how the search of a tier ended.
        Ending => "ended", "结果";
        /// How it ended.
        EndedConfirmed => "confirmed", "已确认";
        /// How it ended.
        EndedUnconfirmed => "not confirmed", "未确认";
        /// How it ended.
        EndedMissed => "its long run missed", "长时间运行未满足";
        /// How it ended.
        EndedBudget => "out of budget", "预算用尽";
        /// How it ended.
        EndedCeiling => "met at the highest load", "最高负载仍满足";
        /// How it ended.
        EndedNever => "never met", "始终不满足";
        /// How it ended.
        EndedFew => "too few requests", "样本不足";
        /// How it ended.
        EndedInterrupted => "stopped", "已中止";
        /// Column: low end.
        Low => "low", "下限";
        /// Column: high end.
        High => "high", "上限";
        /// Column: the value.
        Value => "capacity", "容量";
        /// Key: where it is kept.
        Saved => "Saved in", "保存于";
    }
}
