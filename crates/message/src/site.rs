//! What the index of many results says.

inferometer_text::texts! {
    pub enum SiteText {
        Title => "Results", "测试结果";
        Search => "search: name, label, tag, model, engine, verdict, date", "搜索：名称、标签、标记、模型、引擎、结论、日期";
        AllVerdicts => "all verdicts", "全部结论";
        FolderGone => "{folder} is not there any more; its results are listed again when it comes back.", "{folder} 已不存在；恢复后会重新列出其中的结果。";
        AllModels => "all models", "全部模型";
        AllEngines => "all engines", "全部引擎";
        FromDay => "from", "从";
        UntilDay => "until", "至";
        AllTags => "all tags", "全部标记";
        AllKinds => "all kinds", "全部类型";
        Choose => "compare", "对比";
        Tags => "tags", "标记";
        Load => "load", "负载";
        Comparison => "Comparison", "对比";
        ChooseTwo => "Choose two or more results to see their figures and ratios.", "勾选两个或更多结果，即可查看数值与比值。";
        NotATest => "Ratios are of stored figures against the first chosen result. No test says whether a difference is more than chance; a sweep counts by its best valid point.", "比值以首个勾选的结果为基准，仅由已存数值得出，未检验差异是否显著；扫描取其最佳有效测点。";
        Computed => "computed, not measured", "计算得出，并非实测";
        Unlike => "NOT COMPARABLE: the marked results differ from the first in their kind of load (streams or rate) or by more than 5 % in mean lengths, so their ratios say nothing about the servers.", "不可比：带标记的结果与首个结果的负载类型（并发或速率）不同，或平均长度相差超过 5 %，其比值不能说明服务优劣。";
        FullComparison => "Compare with intervals and a verdict", "查看带区间与结论的完整对比";
        CurveOfRun => "TTFT from the least to the 99th percentile", "TTFT：从最小值到 p99";
        CurveOfLadder => "output tokens per second over the load", "每秒输出 token 数随负载的变化";
        CurveOfSearch => "loads in the order of the probes", "按探测顺序的负载";
        CurveOfStudy => "objective of each trial", "各次试验的目标值";
        More => "Show {count} more", "再显示 {count} 条";
        CurveOfComparison => "ratios to the baseline", "与基准之比";
        HistoryLink => "History", "历史变化";
        Metric => "metric", "指标";
        NoResults => "No results here yet: inferometer run measures one load point, inferometer import reads those of other tools.", "这里还没有结果：用 inferometer run 测量一个负载点，或用 inferometer import 读取其他工具的结果。";
        NoSuchPage => "There is no such result or page; it may have been removed.", "没有这个结果或页面，可能已被删除。";
        Back => "all results", "全部结果";
    }
}

inferometer_text::texts! {
    /// The page of a run that goes on.
    pub enum LiveText {
        Waiting => "waiting for the first requests to end", "等待首批请求结束";
        Running => "running", "进行中";
        Simulated => "simulated engine", "模拟引擎";
        Away => "the server of this page does not answer: the run may have ended, and its report is in its folder; trying again", "页面服务无响应：运行可能已结束，报告在其目录中；正在重试";
        Ended => "the run has ended; its report is in its folder", "运行已结束；报告在其目录中";
        End => "End the run", "结束运行";
        Sure => "End this run now? What was measured is kept.", "现在结束本次运行？已测得的数据会保留。";
        Elapsed => "elapsed", "已用时间";
        Done => "answered", "已完成";
        Failed => "failed", "失败";
        RequestRate => "requests per second", "每秒请求数";
        TokenRate => "output tokens per second", "每秒输出 token 数";
        Ttft => "TTFT p50 / p99 (ms)", "TTFT p50 / p99（ms）";
        Tpot => "TPOT p50 (ms)", "TPOT p50（ms）";
        TtftChart => "TTFT in ms", "TTFT（ms）";
        TpotChart => "TPOT in ms", "TPOT（ms）";
        FailedChart => "failed requests", "失败请求数";
        InFlight => "in flight", "在途";
        TpotBoth => "TPOT p50 / p99 (ms)", "TPOT p50 / p99（ms）";
        InFlightChart => "requests in flight", "在途请求数";
        ServerChart => "requests in the server", "服务端请求";
        Queued => "waiting", "等待中";
        KvChart => "KV cache in use (%)", "KV 缓存占用（%）";
        PowerChart => "power of the devices (W)", "设备功耗（W）";
        Doubts => "Doubts so far", "目前的疑点";
        NoDoubts => "none", "无";
        Met => "met so far", "目前达标";
        Missed => "missed so far", "目前未达标";
        Undecided => "undecided so far", "目前无法判定";
        Between => "between two measurements", "两次测量之间";
        Ladder => "Measured so far", "已测部分";
        Steps => "{done} measured", "已测 {done}";
        StepsOf => "{done} of {all} measured", "已测 {done} / {all}";
        Place => "point", "测点";
        State => "state", "状态";
        Notes => "doubts, reasons", "疑点与原因";
        StepTokens => "output tokens per second, step by step", "逐步的每秒输出 token 数";
        StepTtft => "TTFT in ms, step by step", "逐步的 TTFT（ms）";
        StepObjective => "the figure of the study, trial by trial", "逐次试验的目标值";
    }
}

inferometer_text::texts! {
    /// The page that starts a measurement.
    pub enum StartText {
        Title => "New measurement", "新测量";
        Line => "The same on the command line", "等价的命令行";
        Start => "Start", "开始";
        Copy => "Copy", "复制";
        Copied => "copied", "已复制";
        Away => "the server of this page does not answer", "页面服务无响应";
        Failed => "It did not begin, or ended without a result:", "未能开始，或结束时没有结果：";
    }
}

inferometer_text::texts! {
    /// The view in the terminal, beside what a live page says.
    pub enum TerminalText {
        TokenRate => "output tok/s", "输出 tok/s";
        RequestRate => "requests/s", "请求/s";
        Server => "running / waiting", "运行 / 等待";
        KvUse => "KV cache", "KV 缓存";
        Power => "power", "功耗";
        Messages => "Messages", "消息";
        Keys => "q twice or Ctrl-C: end it, keeping what was measured", "按两次 q 或按 Ctrl-C：结束，保留已测得的数据";
        Sure => "press q again to end it; any other key goes on", "再按一次 q 结束；按其他键继续";
        Ending => "ending: waiting for what is under way; Ctrl-C again leaves at once", "正在结束：等待在途请求；再按 Ctrl-C 立即退出";
    }
}
