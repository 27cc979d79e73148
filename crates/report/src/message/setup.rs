//! What was measured: server, load, work, extent.

use inferometer_text::texts;

texts! {
    /// What was measured.
    pub enum SetupText {
        /// Key: name, time and tags.
        Run => "Run", "运行";
        /// Key: where requests went.
        Server => "Server", "服务端";
        /// Before the address of the embedded engine, `{address}`.
        SimulatedEngine => "simulated engine at {address}", "模拟引擎 {address}";
        /// Key: the model.
        Model => "Model", "模型";
        /// Key: the API.
        Api => "API", "API";
        /// After the API's name.
        Streamed => "streamed", "流式";
        /// After the API's name.
        NotStreamed => "not streamed", "非流式";
        /// Key: when requests were sent.
        Load => "Load", "负载";
        /// `{streams}` streams.
        ClosedLoop => "closed loop, concurrency {streams}", "闭环，并发数 {streams}";
        /// The first wave over `{time}`.
        Spread => "first wave spread over {time}", "首批请求在 {time} 内错开发出";
        /// The first wave at one moment.
        AllAtOnce => "first wave all at once", "首批请求同时发出";
        /// `{rate}` a second.
        OpenLoop => "open loop, {rate} req/s", "开环，{rate} req/s";
        /// `{rate}` conversations a second.
        OpenLoopTalks => "open loop, {rate} conversations/s", "开环，每秒 {rate} 个会话";
        /// Everything at one moment.
        OpenLoopAtOnce => "open loop, all requests at once", "开环，所有请求同时发出";
        /// Equal gaps.
        ArrivalConstant => "constant gaps", "等间隔到达";
        /// Exponential gaps.
        ArrivalPoisson => "Poisson arrivals", "泊松到达";
        /// Gamma gaps of `{burstiness}`.
        ArrivalGamma =>
            "gamma arrivals of burstiness {burstiness}",
            "伽马到达，burstiness {burstiness}";
        /// A linear ramp from `{rate}` over `{time}`.
        RampLinear =>
            "linear ramp from {rate} req/s over {time}",
            "从 {rate} req/s 起线性爬升，历时 {time}";
        /// An exponential ramp from `{rate}` over `{time}`.
        RampExponential =>
            "exponential ramp from {rate} req/s over {time}",
            "从 {rate} req/s 起指数爬升，历时 {time}";
        /// A trace at `{speed}` times its own pace.
        Replay => "trace replayed at {speed} × its own pace", "按 {speed} 倍速回放 trace";
        /// A cap of `{cap}`.
        Cap => "at most {cap} in flight", "在途上限 {cap}";
        /// Key: what was sent.
        Work => "Work", "请求内容";
        /// Synthetic prompts of `{length}` tokens.
        SyntheticPrompts => "synthetic prompts of {length} tokens", "合成提示词，{length} token";
        /// Synthetic prompts and answers of `{pairs}`.
        PairPrompts =>
            "synthetic prompts and answers of {pairs} tokens",
            "合成提示词与回答，{pairs} token";
        /// Rows of `{file}`, of `{format}`.
        DataPrompts => "{format} rows of {file}", "{file} 的数据行（{format}）";
        /// Prompts as long as those of the trace `{file}`.
        TracePrompts =>
            "synthetic prompts of the lengths in {file} ({format})",
            "合成提示词，长度取自 {file}（{format}）";
        /// The format of data that names none.
        SomeFormat => "data", "数据";
        /// Pieces of `{length}` from `{file}`, and `{ask}` characters asked for.
        Continuation =>
            "pieces of {length} from {file} in a template that asks for {ask} characters",
            "文本取自 {file}，每段 {length}，模板要求续写 {ask} 字";
        /// The text to continue is ours.
        EmbeddedText => "an embedded text", "内置文本";
        /// A number of tokens.
        InTokens => "{count} tokens", "{count} 个 token";
        /// A number of characters.
        InChars => "{count} characters", "{count} 字符";
        /// `{groups}` beginnings of `{tokens}` that prompts share.
        SharedTokens =>
            "{groups} shared beginnings of {tokens} tokens",
            "{groups} 组共享前缀，每组 {tokens} token";
        /// `{groups}` beginnings of `{share}` of each prompt.
        SharedShare =>
            "{groups} shared beginnings of {share} of each prompt",
            "{groups} 组共享前缀，占每条提示词的 {share}";
        /// Prompts are in Chinese.
        ChineseText => "in Chinese", "中文";
        /// Prompts are sent as token ids.
        AsTokenIds => "sent as token ids", "以 token id 发送";
        /// Conversations of `{turns}` turns.
        Conversations => "conversations of {turns} turns", "多轮会话，{turns} 轮";
        /// Conversations with all the turns of the data.
        WholeConversations => "conversations", "多轮会话";
        /// `{time}` to think between turns.
        Think => "{time} to think between turns", "轮间停顿 {time}";
        /// Lengths of answers from the data.
        AnswersFromWork =>
            "answers as long as the data say, else of up to 128 tokens",
            "回答长度取自数据，数据未给出时最多 128 token";
        /// Answers end by themselves.
        AnswersFree => "answers that end by themselves", "回答自然结束";
        /// The prompt `{text}`.
        OnePrompt => "one prompt: {text}", "固定提示词：{text}";
        /// `{count}` distinct prompts.
        DistinctPrompts => "{count} distinct", "{count} 条不重复";
        /// A nonce is in use.
        NewPrompts => "new in every run", "每次运行重新生成";
        /// Answers of exactly `{length}` tokens.
        AnswersExact => "answers of exactly {length} tokens", "回答恰好 {length} token";
        /// Answers of up to `{length}` tokens.
        AnswersUpTo => "answers of up to {length} tokens", "回答最多 {length} token";
        /// `{value}` as temperature.
        Temperature => "temperature {value}", "temperature {value}";
        /// `{value}` as top-p.
        TopP => "top-p {value}", "top-p {value}";
        /// Key: how much was sent.
        Extent => "Extent", "规模";
        /// A trace to its end.
        ExtentAll => "the whole trace", "整个 trace";
        /// Part of a trace.
        ExtentPart => "the chosen part of the trace", "trace 的选定部分";
        /// `{count}` requests.
        ExtentRequests => "{count} requests", "{count} 个请求";
        /// For `{time}`.
        ExtentDuration => "sending for {time}", "持续发送 {time}";
        /// `{count}` requests or `{time}`.
        ExtentEither =>
            "{count} requests or {time}, whichever ends first",
            "{count} 个请求或 {time}，先到为止";
        /// A soak of `{time}`.
        ExtentSoak => "soak of {time}", "长稳测试 {time}";
        /// `{warmup}` requests first.
        WarmupRequests => "after {warmup} to warm up", "先预热 {warmup} 个请求";
        /// `{time}` of warm-up.
        WarmupTime => "after {time} of warm-up", "先预热 {time}";
        /// None at all.
        NoWarmup => "no warm-up", "无预热";
        /// The window took `{time}`.
        MeasuredFor => "measured for {time}", "测量 {time}";
        /// Ended by a signal.
        EndedBySignal => "stopped by the user", "被用户中止";
        /// `--until` ended it.
        EndedPrecise => "known precisely enough", "已达到所要求的精度";
        /// Ended by a condition.
        EndedByCondition => "ended by a stop condition", "因停止条件结束";
        /// Ended by the watchdog.
        EndedByWatchdog => "ended by the watchdog", "被看门狗结束";
        /// Killed.
        EndedByKill => "killed before its end", "未结束即被杀死";
        /// Key: a decision that a reader should know.
        Note => "Note", "备注";
        /// Key: the run directory.
        Saved => "Saved", "保存于";
        /// Key: the command that repeats the run.
        Repeat => "Repeat", "重跑";
    }
}
