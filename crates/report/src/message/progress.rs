//! What is said while something goes on.

use inferometer_text::texts;

texts! {
    /// What is said while something goes on.
    pub enum ProgressText {
        /// The server at `{url}` is asked what it can do.
        Preflight => "preflight: {url}", "预检：{url}";
        /// A phase: requests that are not measured.
        WarmUp => "warm-up", "预热";
        /// A phase: requests that are.
        Measuring => "measuring", "测量";
        /// The line of a phase; short enough for 80 columns.
        Line =>
            "{phase}: {done} done, {in_flight} in flight, {rate} req/s, {tokens} tok/s, \
             TTFT {ttft}, {failed} failed",
            "{phase}：完成 {done}，在途 {in_flight}，{rate} req/s，{tokens} tok/s，TTFT {ttft}，\
             失败 {failed}";
        /// After the line: `{time}` is left.
        Left => ", {time} left", "，剩余 {time}";
        /// Another process loads `{file}`.
        Waiting => "{file}: another process is downloading it", "{file}：另一个进程正在下载";
        /// So many `{mib}` of `{file}` are here.
        Received => "{file}: {mib} MiB", "{file}：已下载 {mib} MiB";
        /// So many `{mib}` of `{total}` are here.
        ReceivedOf => "{file}: {mib} of {total} MiB", "{file}：已下载 {mib} / {total} MiB";
        /// So many `{rows}` of `{file}` were read.
        RowsRead => "{file}: {rows} rows read", "{file}：已读取 {rows} 行";
        /// The ceiling of this host is measured.
        Ceiling => "measuring the ceiling of one worker", "正在测量单个 worker 的上限";
        /// Time-stamps at `{streams}` streams are compared.
        StampErrors =>
            "comparing time-stamps at {streams} streams",
            "正在 {streams} 路流下比对时间戳";
    }
}
