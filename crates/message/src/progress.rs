//! What is said while something goes on.

use inferometer_text::texts;

texts! {
    /// What is said while something goes on.
    pub enum ProgressText {
        WaitingForModels => "preflight: waiting since {since} for the list of models at {url}; giving up after {limit}", "预检：已等待 {since}，等待 {url} 返回模型列表；{limit} 后放弃";
        WaitingForAnswer => "preflight: waiting since {since} for a first answer from {url}; giving up after {limit} without a byte (--read-timeout)", "预检：已等待 {since}，等待 {url} 的首个回答；{limit} 内没有任何数据则放弃（--read-timeout）";
        WaitingForAnswers => "interrupted: waiting for {answers} answers under way; Ctrl-C again leaves at once, and keeps what there is", "已中断：等待 {answers} 个在途回答；再按一次 Ctrl-C 立即退出，已有结果会保留";
        Preflight => "preflight: {url}", "预检：{url}";
        PlanHeld => "plan: {warmup} requests to warm up, {requests} measured, then the load is held until these have ended: about two answers of time beside the measured", "计划：先用 {warmup} 个请求预热，测量 {requests} 个，随后保持负载直到它们全部结束：除测量外约多用两个回答的时间";
        Plan => "plan: {warmup} requests to warm up, {requests} measured", "计划：先用 {warmup} 个请求预热，测量 {requests} 个";
        PlanByTime => "plan: {warmup} requests to warm up, then as long as asked for", "计划：先用 {warmup} 个请求预热，随后按要求的时长测量";
        AllPairs => "each number of --requests is measured at each --{load}; --zip gives each load its own number", "每个 --requests 都会在每个 --{load} 下测量；加 --zip 可让每个负载各用一个请求数";
        WarmUp => "warm-up", "预热";
        Measuring => "measuring", "测量";
        Hold => "holding the load", "保持负载";
        Line =>
            "{phase}: {done} done, {in_flight} in flight, {rate} req/s, {tokens} tok/s, \
             TTFT {ttft}, {failed} failed",
            "{phase}：完成 {done}，在途 {in_flight}，{rate} req/s，{tokens} tok/s，TTFT {ttft}，\
             失败 {failed}";
        Left => ", {time} left", "，剩余 {time}";
        AskingEngine => "asking {engine} since {since}: {question}", "正在询问 {engine}，已等待 {since}：{question}";
        StartingEngine => "starting {engine}; its log is {log}", "正在启动 {engine}；日志：{log}";
        WaitingForEngine => "waiting for {engine} since {since}", "等待 {engine}，已 {since}";
        EngineReady => "{engine} answers after {seconds} s", "{engine} 在 {seconds} s 后就绪";
        StoppingEngine => "stopping the engine", "正在停止引擎";
        GivingUp => "giving up: three points in a row could not be measured: {reason}", "放弃：连续三个测点无法测量：{reason}";
        WaitingForRanks => "waiting for {missing} of {of} ranks since {since}: {numbers}", "等待 {of} 个 rank 中的 {missing} 个，已 {since}：{numbers}";
        WaitingForRankZero => "rank {rank}: waiting for rank 0 at {at} since {since}", "rank {rank}：等待 {at} 上的 rank 0，已 {since}";
        WaitingForSearcher => "waiting for the searcher '{name}' since {since}", "等待搜索器 '{name}'，已 {since}";
        SweepGoesOn => "going on: {done} of {all} measurements are there", "继续：{all} 次测量中已有 {done} 次";
        StudyPlan => "plan: at most {trials} trials, then {starts} fresh starts that decide (up to {most} where settings fail in them): at most {all} starts of the engine", "计划：最多 {trials} 次试验，然后重启 {starts} 次以确定结论（若配置在重启中失败，最多 {most} 次）：引擎最多启动 {all} 次";
        StudyGoesOn => "going on: {count} trials are there", "继续：已有 {count} 次试验";
        TimeLeft => "{time} left", "剩余 {time}";
        FailedBecause => "failed: {reason}", "失败：{reason}";
        SkippedBecause => "skipped: {reason}", "跳过：{reason}";
        Met => "met", "达标";
        Missed => "missed", "未达标";
        Undecided => "undecided", "未定";
        AfterRequests => "after {count} requests", "{count} 个请求后";
        AfterSessions => "after {count} sessions", "{count} 个会话后";
        Trial => "trial", "试验";
        Why => "why", "来由";
        State => "state", "状态";
        Flags => "flags", "启动参数";
        Default => "default", "默认";
        Search => "search", "搜索";
        Again => "again {of}", "复测 {of}";
        PartOf => "part of {of}", "{of} 的一部分";
        Done => "done", "完成";
        Invalid => "invalid", "无效";
        Failed => "failed", "失败";
        Skipped => "skipped", "跳过";
        SloMissed => "SLO missed", "未达 SLO";
        Refused => "refused", "拒绝启动";
        Crashed => "crashed", "崩溃";
        Timeout => "timeout", "超时";
        Stopped => "stopped", "中断";
        RequestsFailed => "{count} requests failed", "{count} 个请求失败";
        Waiting => "{file}: another process is downloading it", "{file}：另一个进程正在下载";
        Received => "{file}: {mib} MiB", "{file}：已下载 {mib} MiB";
        ReceivedOf => "{file}: {mib} of {total} MiB", "{file}：已下载 {mib} / {total} MiB";
        RowsRead => "{file}: {rows} rows read", "{file}：已读取 {rows} 行";
        Ceiling => "measuring the ceiling of one worker", "正在测量单个 worker 的上限";
        StampErrors =>
            "comparing time-stamps at {streams} streams",
            "正在 {streams} 路流下比对时间戳";
    }
}
