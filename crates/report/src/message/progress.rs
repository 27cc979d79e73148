//! What is said while something goes on.

use inferometer_text::texts;

texts! {
    /// What is said while something goes on.
    pub enum ProgressText {
        WaitingForModels => "preflight: waiting since {since} for the list of models at {url}; giving up after {limit}", "预检：已等待 {since}，等待 {url} 返回模型列表；{limit} 后放弃";
        WaitingForAnswer => "preflight: waiting since {since} for a first answer from {url}; giving up after {limit} (--read-timeout)", "预检：已等待 {since}，等待 {url} 的首个回答；{limit} 后放弃（--read-timeout）";
        Preflight => "preflight: {url}", "预检：{url}";
        PlanHeld => "plan: {warmup} requests to warm up, {requests} measured, then the load is held until these have ended: about two answers of time beside the measured", "计划：先用 {warmup} 个请求预热，测量 {requests} 个，随后保持负载直到它们全部结束：除测量外约多用两个回答的时间";
        Plan => "plan: {warmup} requests to warm up, {requests} measured", "计划：先用 {warmup} 个请求预热，测量 {requests} 个";
        PlanByTime => "plan: {warmup} requests to warm up, then as long as asked for", "计划：先用 {warmup} 个请求预热，随后按要求的时长测量";
        WarmUp => "warm-up", "预热";
        Measuring => "measuring", "测量";
        Hold => "holding the load", "保持负载";
        Line =>
            "{phase}: {done} done, {in_flight} in flight, {rate} req/s, {tokens} tok/s, \
             TTFT {ttft}, {failed} failed",
            "{phase}：完成 {done}，在途 {in_flight}，{rate} req/s，{tokens} tok/s，TTFT {ttft}，\
             失败 {failed}";
        Left => ", {time} left", "，剩余 {time}";
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
