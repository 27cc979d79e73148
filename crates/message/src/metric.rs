//! Names of metrics, and what each means.

use inferometer_text::texts;

texts! {
    pub enum MetricText {
        Requests => "Request throughput", "请求吞吐量";
        OutputTokens => "Output throughput", "输出吞吐量";
        TotalTokens => "Total throughput", "总吞吐量";
        Items => "Item throughput", "条目吞吐量";
        InputTokens => "Input throughput", "输入吞吐量";
        Audio => "Audio throughput", "音频吞吐量";
        Goodput => "Goodput", "有效吞吐量";
        JobTime => "Job time", "任务时间";
        SessionsPerHour => "Sessions per hour", "每小时会话数";
        JobAttainment => "Job attainment", "任务达标率";
        Attainment => "Attainment", "达标率";
        Score => "Score", "得分";
        ValidJson => "Valid JSON", "合法 JSON 占比";
        ValidCalls => "Valid tool calls", "合法工具调用占比";
        Identical => "Identical answers", "相同回答占比";
        InFlight => "In flight", "在途请求";
        PerUser => "Per user", "单用户速率";
        Ttft => "TTFT", "TTFT";
        TtftFromSent => "TTFT from sent", "TTFT（自发送起）";
        FirstAnswer => "first answer", "首个回答 token";
        SecondToken => "second token", "第二个 token";
        Tpot => "TPOT", "TPOT";
        Itl => "ITL", "ITL";
        InterChunk => "inter-chunk", "chunk 间隔";
        MaxGap => "max gap", "最大间隔";
        E2e => "E2E", "E2E";
        RealTimeFactor => "RTF", "实时率 RTF";
        Connect => "connect", "建连";
        Lag => "lag", "发送滞后";
        CapWait => "cap wait", "上限等待";
        Percentiles => "Percentiles", "百分位";
        Interval => "95 % interval", "95 % 区间";
    }
}

texts! {
    pub enum DefinitionText {
        RequestsInWindow =>
            "answers completed inside the window over its length; the window opens when the \
             warmed-up load is up to strength and closes when the last measured request is sent, \
             with the load kept up around it; a request that crosses an edge counts by the share \
             of its time inside, in an open loop of the time since its first token",
            "测量窗口内完成的回答数除以窗口长度；负载预热到位后窗口打开，最后一个被测请求发出时关闭，\
             窗口前后负载不中断；跨越窗口边界的请求按其在窗口内的时间占比计入（开环按首 token 之后的时间）";
        OutputTokensInWindow =>
            "output tokens of the same answers, which count as they do, over the same length",
            "同一批回答的输出 token 数，计入方式相同，除以同一长度";
        TotalTokensInWindow =>
            "the same with their prompt tokens",
            "同上，加上输入 token";
        Items =>
            "vectors or scores of complete answers per second, over the same window; one for each \
             text of a request",
            "同一窗口内每秒完整回答的向量或分数个数；请求中每个文本对应一个";
        Audio =>
            "seconds of sound of completely answered requests per second of the clock, over the \
             same window",
            "同一窗口内每秒完成的音频秒数，只计得到完整回答的请求";
        RealTimeFactor =>
            "real-time factor: E2E over the length of the request's sounds; below 1 the answer is \
             complete before the sounds could have been heard",
            "实时率：E2E 除以请求中音频的时长；小于 1 表示比播放更快";
        InputTokens =>
            "input tokens of complete answers per second, as the server counts, over the same \
             window",
            "同一窗口内每秒完整回答的输入 token 数，以服务端计数为准";
        Requests =>
            "complete answers per second, from the first send to the last completion",
            "每秒完整回答数，从首个请求发出到最后一个完成";
        OutputTokens =>
            "output tokens of complete answers per second, over the same window; steady: by \
             token events inside the steady state",
            "同一窗口内每秒完整回答的输出 token 数；稳态值按稳态区间内的 token 到达计";
        TotalTokens =>
            "prompt and output tokens of complete answers per second, over the same window",
            "同一窗口内每秒完整回答的输入与输出 token 总数";
        Goodput =>
            "requests per second that meet every per-request objective",
            "每秒满足全部单请求 SLO 的请求数";
        Attainment =>
            "share of all requests that meet every per-request objective; failures are misses",
            "满足全部单请求 SLO 的请求占全部请求的比例；失败计为未达标";
        JobTime =>
            "from the start of a session's first turn to its last answer, waits for its user and \
             tools included; of sessions without a failed turn, where those that the end of the \
             run cut count as longer than they had lasted (Kaplan-Meier)",
            "从会话第一轮开始到最后一个回答，含用户与工具的等待；只计没有失败轮次的会话，被运行结束截断的\
             按“长于已持续时间”计（Kaplan-Meier）";
        SessionsPerHour =>
            "sessions per hour of the window; each counts by the share of its turns answered \
             inside, unless one of them failed",
            "窗口内每小时的会话数；每个会话按其在窗口内得到回答的轮次占比计入，有失败轮次的不计";
        JobAttainment =>
            "share of sessions that are complete within the limit; a failed turn is a miss",
            "在时限内完成的会话占比；有失败轮次的计为未达标";
        Score =>
            "mean score of complete answers by --check, from 0 to 1; interval as of independent \
             prompts (Clopper-Pearson)",
            "--check 对完整回答打分的平均值，0 到 1；区间按提示词相互独立计（Clopper-Pearson）";
        ValidJson =>
            "share of complete answers to requests for JSON that are JSON as the schema allows it",
            "要求 JSON 的请求中，完整回答符合 schema 的占比";
        ValidCalls =>
            "share of tool calls that name an offered tool with arguments that its schema allows",
            "指向所提供工具且参数符合其 schema 的工具调用占比";
        Identical =>
            "share of complete answers that are, character by character, those of the other run",
            "与另一次运行逐字相同的完整回答占比";
        TtftOpen =>
            "first chunk with a real token (content, reasoning or tool call; not role-only, \
             empty or usage) minus the time at which the request was due",
            "首 token 时延：首个含真实 token 的 chunk（正文、推理或工具调用；仅 role、空或 \
             usage 的不算）减计划发送时刻";
        TtftClosed =>
            "first chunk with a real token (content, reasoning or tool call; not role-only, \
             empty or usage) minus the time of sending",
            "首 token 时延：首个含真实 token 的 chunk（正文、推理或工具调用；仅 role、空或 \
             usage 的不算）减发送时刻";
        TtftFromSent =>
            "the same, minus the time of sending: without lag and cap wait",
            "同上，但减发送时刻：不含发送滞后与上限等待";
        FirstAnswer =>
            "as TTFT, to the first token that is not reasoning",
            "同 TTFT，但算到首个非推理 token";
        SecondToken =>
            "second chunk with a token minus the first",
            "第二个含 token 的 chunk 减第一个";
        Tpot =>
            "(last token - first token) / (output tokens - 1), for each request with more than \
             one token",
            "每个输出 token 的时间：（末 token - 首 token）/（输出 token 数 - 1），仅计多于一个 \
             token 的请求";
        Itl =>
            "gap between chunks with tokens, weighted by their tokens",
            "token 间时延：含 token 的 chunk 之间的间隔，按 token 数加权";
        InterChunk =>
            "gap between chunks with tokens; chunks are not tokens here, because the tokens in \
             each are not known",
            "含 token 的 chunk 之间的间隔；每个 chunk 的 token 数未知，因此不是 token 间隔";
        MaxGap =>
            "largest gap between two chunks of a request: shows stalls",
            "一个请求内两个 chunk 的最大间隔：可看出停顿";
        E2eOpen =>
            "last token or finishing chunk minus the time at which the request was due",
            "端到端时延：末 token 或结束 chunk 减计划发送时刻";
        E2eClosed =>
            "last token or finishing chunk minus the time of sending",
            "端到端时延：末 token 或结束 chunk 减发送时刻";
        Connect =>
            "time to open a connection, TLS included; not part of lag",
            "建立连接的时间，含 TLS；不计入发送滞后";
        Lag =>
            "sent minus due, without cap wait and connecting: the client's own lateness",
            "实际发送减计划发送，不含上限等待与建连：客户端自身的滞后";
        CapWait =>
            "wait at --max-concurrency; part of TTFT and E2E, because users experience it",
            "在 --max-concurrency 处的等待；用户能感受到，因此计入 TTFT 与 E2E";
        InFlight =>
            "requests in flight, computed exactly from starts and ends, weighted by time",
            "正在进行的请求数，由起止时刻精确扫描、按时间加权";
        PerUser =>
            "output tokens of an answer over its E2E latency; decode: 1 / TPOT; the slowest is \
             the one to look at",
            "一个回答的输出 token 数除以其 E2E；解码：1 / TPOT；重点看最慢的一路";
        Percentiles =>
            "linear interpolation (Hyndman-Fan type 7); a tail needs 44 samples for p90, 90 \
             for p95, 459 for p99 to be claimed with 99 % confidence",
            "线性插值（Hyndman-Fan 第 7 类）；在 99 % 置信度下，p90 至少需要 44 个样本，p95 需\
             要 90 个，p99 需要 459 个";
        Interval =>
            "by the means of five to ten batches of requests in order of their start (Student's t, \
             widened by the correlation that is left); none where the run is short beside the \
             memory of the queue",
            "按开始顺序把请求分成五到十批，由各批均值得出（Student t，并按剩余相关性放宽）；运行短于队\
             列的记忆时不给出";
    }
}
