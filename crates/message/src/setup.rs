//! What was measured: server, load, work, extent.

use inferometer_text::texts;

texts! {
    pub enum SetupText {
        Run => "Run", "运行";
        Server => "Server", "服务端";
        SimulatedInVirtualTime => "simulated engine, in virtual time", "模拟引擎（虚拟时间）";
        SimulatedEngine => "simulated engine at {address}", "模拟引擎 {address}";
        Model => "Model", "模型";
        Api => "API", "API";
        Streamed => "streamed", "流式";
        Insecure => "certificates not checked (--insecure)", "未校验证书（--insecure）";
        NotStreamed => "not streamed", "非流式";
        Load => "Load", "负载";
        ClosedLoop => "closed loop, concurrency {streams}", "闭环，并发数 {streams}";
        Spread => "first wave spread over {time}", "首批请求在 {time} 内错开发出";
        AllAtOnce => "first wave all at once", "首批请求同时发出";
        OpenLoop => "open loop, {rate} req/s", "开环，{rate} req/s";
        OpenLoopTalks => "open loop, {rate} conversations/s", "开环，每秒 {rate} 个会话";
        OpenLoopAtOnce => "open loop, all requests at once", "开环，所有请求同时发出";
        ArrivalConstant => "constant gaps", "等间隔到达";
        ArrivalPoisson => "Poisson arrivals", "泊松到达";
        ArrivalGamma =>
            "gamma arrivals, burstiness {burstiness}",
            "伽马到达，burstiness {burstiness}";
        RampLinear =>
            "linear ramp from {rate} req/s over {time}",
            "从 {rate} req/s 起线性爬升，历时 {time}";
        RampExponential =>
            "exponential ramp from {rate} req/s over {time}",
            "从 {rate} req/s 起指数爬升，历时 {time}";
        Replay => "trace replayed at {speed} × its speed", "按 {speed} 倍速回放 trace";
        Cap => "at most {cap} in flight", "在途上限 {cap}";
        Work => "Work", "请求内容";
        SyntheticPrompts => "synthetic prompts of {length} tokens", "合成提示词，{length} token";
        PairPrompts =>
            "synthetic prompts and answers of {pairs} tokens",
            "合成提示词与回答，{pairs} token";
        DataPrompts => "{format} rows of {file}", "{file} 的数据行（{format}）";
        TracePrompts =>
            "synthetic prompts of the lengths in {file} ({format})",
            "合成提示词，长度取自 {file}（{format}）";
        SomeFormat => "data", "数据";
        Continuation =>
            "pieces of {length} from {file} in a template that asks for {ask} characters",
            "文本取自 {file}，每段 {length}，模板要求续写 {ask} 字";
        EmbeddedText => "an embedded text", "内置文本";
        InTokens => "{count} tokens", "{count} 个 token";
        InChars => "{count} characters", "{count} 字符";
        SharedTokens =>
            "shared prefixes: {groups} of {tokens} tokens",
            "{groups} 组共享前缀，每组 {tokens} token";
        SharedShare =>
            "shared prefixes: {groups}, {share} of each prompt",
            "{groups} 组共享前缀，占每条提示词的 {share}";
        ChineseText => "in Chinese", "中文";
        AsTokenIds => "sent as token ids", "以 token id 发送";
        Conversations => "conversations of {turns} turns", "多轮会话，{turns} 轮";
        WholeConversations => "conversations", "多轮会话";
        Think => "{time} to think between turns", "轮间停顿 {time}";
        AnswersFromWork =>
            "answers as long as the data says, otherwise up to 128 tokens",
            "回答长度取自数据，数据未给出时最多 128 token";
        TextsPerRequest => "{count} per request", "每请求 {count} 个";
        DocumentsPerRequest =>
            "{count} documents per request, each held against its query",
            "每请求 {count} 篇文档，各与其查询比较";
        AnswersFree => "answers that end by themselves", "回答自然结束";
        OnePrompt => "one prompt: {text}", "固定提示词：{text}";
        DistinctPrompts => "{count} distinct", "{count} 条不重复";
        Images => "synthetic images, {spec}", "合成图像，{spec}";
        Videos => "synthetic videos, {spec}", "合成视频，{spec}";
        Sounds => "synthetic sounds, {spec}", "合成音频，{spec}";
        NewPrompts => "new in every run", "每次运行重新生成";
        AnswersExact => "answers of exactly {length} tokens", "回答恰好 {length} token";
        AnswersUpTo => "answers of up to {length} tokens", "回答最多 {length} token";
        Temperature => "temperature {value}", "temperature {value}";
        TopP => "top-p {value}", "top-p {value}";
        Ranks => "Ranks", "各 rank";
        RanksTogether => "{count}; beside rank 0 on {hosts}; clocks agree within {error}", "{count} 个；rank 0 之外位于 {hosts}；时钟误差不超过 {error}";
        Extent => "Extent", "规模";
        ExtentAll => "the whole trace", "整个 trace";
        ExtentPart => "the chosen part of the trace", "trace 的选定部分";
        ExtentRequests => "{count} requests", "{count} 个请求";
        ExtentDuration => "sending for {time}", "持续发送 {time}";
        ExtentEither =>
            "{count} requests or {time}, whichever ends first",
            "{count} 个请求或 {time}，先到为止";
        ExtentSoak => "soak of {time}", "长稳测试 {time}";
        WarmupRequests => "after {warmup} to warm up", "先预热 {warmup} 个请求";
        WarmupTime => "after {time} of warm-up", "先预热 {time}";
        NoWarmup => "no warm-up", "无预热";
        MeasuredFor => "measured for {time}", "测量 {time}";
        FirstToLast =>
            "{time} from the first send to the last completion",
            "首个请求发出到最后一个完成共 {time}";
        Held => "load held with {hold} more", "再以 {hold} 个请求保持负载";
        SpreadInWarmup => "streams spread during the warm-up", "各路请求在预热中错开";
        EndedBySignal => "stopped by the user", "被用户中止";
        EndedPrecise => "known precisely enough", "已达到所要求的精度";
        EndedByCondition => "ended by a stop condition", "因停止条件结束";
        EndedByWatchdog => "ended by the watchdog", "被看门狗结束";
        EndedByLostRank => "ended: a rank was lost", "结束：有 rank 丢失";
        EndedByAbsence => "given up: the server was away", "放弃：服务端已离线";
        EndedUnwritten => "ended: its records could not be written", "结束：记录无法写入";
        GoesOn => "still running", "仍在进行";
        EndedByKill => "killed before it finished", "未结束即被杀死";
        Note => "Note", "备注";
        Saved => "Saved", "保存于";
        Repeat => "Repeat", "重跑";
    }
}
