//! What names on the page mean that are not metrics of a run.

inferometer_text::texts! {
    pub enum GlossaryText {
        Duration => "from the first request that was sent to the last answer that was complete", "从首个请求发出到最后一个回答完成的时间";
        Failed => "requests that ended with an error, of all that ended; not counted in latencies", "以错误结束的请求占已结束请求的比例；不计入时延统计";
        FailedCount => "requests that ended with an error; not counted in latencies", "以错误结束的请求数；不计入时延统计";
        Valid => "measurements without invalidating doubts; every run is checked for problems of the client, the load and the answers", "未发现问题的测点；每次运行都会检查客户端、负载与回答";
        Capacity => "the highest load at which every objective is met, found by search and confirmed by a longer run", "满足全部目标的最高负载，由搜索得出并以更长的运行确认";
        CapacityInterval => "the loads between which the capacity lies with 90 % confidence", "容量以 90 % 置信度所在的负载区间";
        Gap => "time from one chunk of an answer to the next", "同一回答相邻数据块的时间间隔";
        CompletionSpeed => "output tokens of one answer divided by its end-to-end latency", "单个回答的输出 token 数除以端到端时延";
        Steady => "the part of the run in which load and latency had settled", "负载与时延已稳定的时间段";
    }
}
