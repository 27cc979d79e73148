//! Words of the page `report.html` that no other report has.

inferometer_text::texts! {
    /// A text of the page. Those that carry `{name}` are templates.
    pub enum PageText {
        /// Title where a run has no name.
        Run => "Load test report", "压测报告";
        /// Title where a sweep has no name.
        Sweep => "Sweep report", "参数扫描报告";
        /// Title where a search has no name.
        Capacity => "Capacity report", "容量报告";
        /// Title of a comparison.
        Comparison => "Comparison report", "对比报告";
        /// Title of an import.
        Import => "Imported results", "导入结果";
        /// Heading: host, client, server.
        Environment => "Environment", "测试环境";
        /// Key: the version that measured.
        Measured => "Measured with", "测试工具";
        /// `{version}` and `{workers}`.
        MeasuredBy => "Inferometer {version}, {workers} client threads", "Inferometer {version}，{workers} 个客户端线程";
        /// Key: the host that measured.
        Host => "Client host", "客户端主机";
        /// `{cpu}` with `{cores}`.
        Cores => "{cpu}, {cores} cores", "{cpu}，{cores} 核";
        /// A processor of unknown name.
        UnknownCpu => "unknown processor", "未知处理器";
        /// Key: software of the server.
        Engine => "Server software", "服务端软件";
        /// Key: models that the server lists.
        Models => "Models offered", "可用模型";
        /// Key: the largest context.
        Context => "Largest context", "最大上下文";
        /// `{count}` tokens.
        ContextOf => "{count} tokens", "{count} 个 token";
        /// Key: fields that the server refused.
        Refused => "Fields it refused", "被拒绝的字段";
        /// Tile: requests that failed.
        Failed => "Failed requests", "失败请求";
        /// Tile: `{count}` of all.
        OfAll => "of {count}", "共 {count}";
        /// Tile: points that are valid.
        ValidPoints => "Valid measurements", "有效测点";
        /// Tile: the largest throughput of a sweep.
        BestThroughput => "Highest output throughput", "最高输出吞吐量";
        /// Tile: the largest number of requests a second.
        BestQps => "Highest request throughput", "最高请求吞吐量";
        /// Tile: the least TTFT.
        BestTtft => "Lowest TTFT p50", "最低 TTFT p50";
        /// Tile: the least TPOT.
        BestTpot => "Lowest TPOT p50", "最低 TPOT p50";
        /// Tile: the answer of a search.
        Answer => "Capacity", "容量";
        /// Tile: interval of the answer.
        Interval => "90 % interval", "90 % 区间";
        /// Heading: a table for one input length, `{input}`.
        GridOf => "Input length {input}", "输入长度 {input}";
        /// Column: actual output length.
        ActualOutput => "actual output length", "实际输出长度";
        /// Column: output tokens a second of one answer.
        CompletionSpeed => "tok/s of one answer", "单请求 tok/s";
        /// Footnote to it.
        CompletionSpeedIs => "tok/s of one answer: mean over the answers of output tokens by end-to-end latency; not the output throughput of all streams", "单请求 tok/s：各回答的输出 token 数除以其端到端时延，再取均值；并非全部并发的输出吞吐量";
        /// Column: the output length that was asked for.
        AskedOutput => "asked output length", "要求输出长度";
        /// Footnote of a figure: which of the repeats is drawn.
        MedianRepeat => "Of the repeats of a point, the one with the median throughput is drawn.", "同一测点的多次重复中，绘制吞吐量居中的一次。";
        /// Footnote: points of other ladders left out, `{count}`.
        MoreSeries => "{count} more combinations of settings are in the tables.", "另有 {count} 组参数组合见表格。";
    }
}
