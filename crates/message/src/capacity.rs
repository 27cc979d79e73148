//! What reports of a search for capacity say.

use inferometer_text::texts;

texts! {
    pub enum CapacityText {
        Found => "CAPACITY", "容量";
        Estimated => "CAPACITY, NOT CONFIRMED", "容量（未确认）";
        NotFound => "NO CAPACITY", "无结论";
        Answer => "{value} {unit}; 90 % interval {low} – {high}", "{value} {unit}；90 % 区间 {low} – {high}";
        Streams => "concurrent requests", "路并发";
        SessionsPerSecond => "sessions/s", "会话/s";
        ConcurrentSessions => "concurrent sessions", "路并发会话";
        OfRequests => "requests", "请求";
        OfSessions => "sessions", "会话";
        AtLeast => "at least {value} {unit}: every load up to there met the objectives", "至少 {value} {unit}：直到该负载均满足目标";
        NeverMet => "no load down to {high} {unit} met the objectives", "负载低至 {high} {unit} 仍不满足目标";
        TooFew => "the budget left too few {counted} for a long run: {had} counted beside those with which the server fills, and the objectives need at least {needs}; raise --budget", "剩余预算不足以完成长时间运行：除去服务端填充阶段后只有 {had} 个{counted}计入，而目标至少需要 {needs}；请增大 --budget";
        BudgetSpent => "the budget was spent before the interval was narrow enough; raise --budget", "预算用尽时区间仍不够窄；请增大 --budget";
        Unconfirmed => "every long run at the answer moved it; the server may be drifting", "在该负载下的长时间运行不断改变结论，服务端可能存在漂移";
        Missed => "the long run at {level} {unit} missed the objective: {within} of its {counted} were within the limit, {asked} required", "在 {level} {unit} 下的长时间运行未满足目标：{within} 的{counted}达标，要求 {asked}";
        GoesOn => "interrupted; the probes so far are in {folder} (inferometer report), and the same command with --out {folder} goes on", "已中断；目前的试探结果在 {folder}（inferometer report 可查看），用同一命令加 --out {folder} 可继续";
        TooShort => "not confirmed: a run of {had} {counted} at {level} {unit} met the objectives, but {counted} that wait together tell little, and too few are independent to show that it lasts; at least {needed} would be needed at this load (raise --budget)", "未确认：在 {level} {unit} 下 {had} 个{counted}的运行满足目标，但同时排队的{counted}彼此相关，独立样本太少，不足以说明能够持续；该负载下至少需要 {needed}（请增大 --budget）";
        TooShortTogether => "not confirmed: {runs} runs of {had} {counted} in all, at {level} {unit} and above, met the objectives, but {counted} that wait together tell little, and too few are independent to show that it lasts; at least {needed} would be needed at this load (raise --budget)", "未确认：在 {level} {unit} 及以上的 {runs} 次运行共 {had} 个{counted}满足目标，但同时排队的{counted}彼此相关，独立样本太少，不足以说明能够持续；该负载下至少需要 {needed}（请增大 --budget）";
        NeededRequests => "{needs} {counted}", "{needs} 个{counted}";
        NeededTime => "{needs} {counted} (about {time})", "{needs} 个{counted}（约 {time}）";
        Interrupted => "the search was stopped by the user; the same command with this folder as --out goes on with it", "搜索被用户中止；用同一命令并以该文件夹作为 --out 可继续";
        UnderWay => "the search has not ended: it goes on, or it was killed, and the same command with this folder as --out goes on with it", "搜索尚未结束：仍在进行，或已被强制终止；用同一命令并以该文件夹作为 --out 可继续";
        SoFar => "so far it seems to lie between {low} and {high} {unit}", "目前看来介于 {low} 与 {high} {unit} 之间";
        SoFarMet => "the objectives were met up to {low} {unit}", "直到 {low} {unit} 均满足目标";
        SoFarMissed => "the objectives were missed from {high} {unit} on", "从 {high} {unit} 起不满足目标";
        Confirmed => "Confirmed", "确认";
        ConfirmedBy => "by a run of {requests} requests at {level} {unit}, which met the objectives", "由 {level} {unit} 下 {requests} 个请求的运行确认，该运行满足目标";
        ConfirmedByRuns => "by {runs} runs of {requests} requests in all, the lowest at {level} {unit}, which met the objectives together", "由 {runs} 次运行共 {requests} 个请求确认，最低负载为 {level} {unit}，合起来满足目标";
        ConfirmedByArrivals => "by a run of {requests} requests at {level} {unit} ({asked} were asked for, and random arrivals came at this rate), which met the objectives", "由 {level} {unit} 下 {requests} 个请求的运行确认（设定为 {asked}，随机到达的实际速率如前），该运行满足目标";
        Objectives => "Objectives", "目标";
        Binding => "Missed first", "最先不满足";
        Edge => "Beyond it", "超过之后";
        Slope => "a slope: slightly more load misses slightly more", "缓坡：负载略增，达标率略降";
        Cliff => "a cliff: 5 % more load misses most of what was met", "断崖：负载再增 5 %，大部分即不达标";
        Spent => "Spent", "开销";
        SpentOn => "{spent} {counted} in {probes} probes", "{spent} 个{counted}，{probes} 次探测";
        Tiers => "Tiers", "档位";
        Tier => "tier", "档位";
        Probes => "Probes", "探测";
        Purpose => "why", "目的";
        Said => "objectives", "目标";
        Bracket => "bracket", "定界";
        Bisect => "bisect", "二分";
        Confirm => "confirm", "确认";
        Met => "met", "满足";
        ProbeMissed => "missed", "未满足";
        Undecided => "undecided", "未判定";
        ProbesShow => "met, missed: whether the probe's {counted} met the objectives; near the capacity it can go either way; undecided: too few of its {counted} are independent to tell by this probe alone; several at one load may confirm it together", "满足、未满足：该次探测的{counted}是否满足目标；接近容量时两种结果都可能出现；未判定：仅凭该次探测，相互独立的{counted}太少，无法断定；同一负载的多次探测合起来可以确认";
        RunThatConfirms => "The run that confirms it, at {level} {unit}", "用于确认的运行，{level} {unit}";
        StrongestRun => "The long run that tells most, at {level} {unit}", "最能说明问题的长时间运行，{level} {unit}";
        Arrived => "arrived", "实际到达";
        Ending => "ended", "结果";
        EndedConfirmed => "confirmed", "已确认";
        EndedUnconfirmed => "not confirmed", "未确认";
        EndedMissed => "its long run missed", "长时间运行未满足";
        EndedBudget => "out of budget", "预算用尽";
        EndedCeiling => "met at the highest load", "最高负载仍满足";
        EndedNever => "never met", "始终不满足";
        EndedFew => "too few requests", "样本不足";
        EndedShort => "run too short", "运行时间太短";
        EndedInterrupted => "stopped", "已中止";
        EndedUnderWay => "not ended", "未结束";
        Low => "low", "下限";
        High => "high", "上限";
        Value => "capacity", "容量";
        Saved => "Saved in", "保存于";
    }
}
