//! Words of the page `report.html` that no other report has.

inferometer_text::texts! {
    /// A text of the page. Those that carry `{name}` are templates.
    pub enum PageText {
        Run => "Load test report", "压测报告";
        Sweep => "Sweep report", "参数扫描报告";
        Capacity => "Capacity report", "容量报告";
        Comparison => "Comparison report", "对比报告";
        History => "History", "历史";
        Import => "Imported results", "导入结果";
        Environment => "Environment", "测试环境";
        Measured => "Measured with", "测试工具";
        MeasuredBy => "Inferometer {version}, client threads: {workers}", "Inferometer {version}，{workers} 个客户端线程";
        Host => "Client host", "客户端主机";
        Cores => "{cpu}, {cores} cores", "{cpu}，{cores} 核";
        UnknownCpu => "unknown processor", "未知处理器";
        Engine => "Server software", "服务端软件";
        Models => "Models offered", "可用模型";
        Context => "Largest context", "最大上下文";
        ContextOf => "{count} tokens", "{count} 个 token";
        Refused => "Fields it refused", "被拒绝的字段";
        Failed => "Failed requests", "失败请求";
        OfAll => "of {count}", "共 {count}";
        ValidPoints => "Valid measurements", "有效测点";
        BestThroughput => "Highest output throughput", "最高输出吞吐量";
        WithinObjectives => "{unit} within the objectives", "{unit}（满足目标）";
        BestQps => "Highest request throughput", "最高请求吞吐量";
        BestTtft => "Lowest TTFT p50", "最低 TTFT p50";
        BestTpot => "Lowest TPOT p50", "最低 TPOT p50";
        Answer => "Capacity", "容量";
        HighestMet => "Highest load that met the SLO, not confirmed", "满足 SLO 的最高负载（未确认）";
        Interval => "90 % interval", "90 % 区间";
        GridOf => "Input length {input}", "输入长度 {input}";
        ActualOutput => "actual output ({unit})", "实际输出（{unit}）";
        CompletionSpeed => "tok/s of one answer", "单请求 tok/s";
        CompletionSpeedIs => "tok/s of one answer: mean over the answers of output tokens divided by end-to-end latency; not the output throughput of all streams", "单请求 tok/s：各回答的输出 token 数除以其端到端时延，再取均值；并非全部并发的输出吞吐量";
        AskedOutput => "asked output ({unit})", "要求输出（{unit}）";
        MedianRepeat => "Of the repeats of a point, the one with the median throughput is drawn.", "同一测点的多次重复中，绘制吞吐量居中的一次。";
        MoreSeries => "{count} more combinations of settings are in the tables.", "另有 {count} 组参数组合见表格。";
    }
}
