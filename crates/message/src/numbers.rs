//! The numbers of a run and the accounts that they rest on.

use inferometer_text::texts;

texts! {
    /// Headings, columns and facts around the numbers.
    pub enum NumbersText {
        Result => "Result", "结果";
        SteadyState => "steady ({time})", "稳态（{time}）";
        Median => "{metric}, median", "{metric} 中位数";
        Accounts => "Requests", "请求数";
        Resent =>
            "{count} found their connection closed by the server and were resent on a new \
             one",
            "{count} 个请求发现连接已被服务端关闭，在新连接上重发";
        AccountsOf =>
            "{ok} ok, {failed} failed, {cut} cut, {unsent} unsent; {planned} planned",
            "成功 {ok}，失败 {failed}，截断 {cut}，未发 {unsent}；计划 {planned}";
        Cancelled => "{count} given up by the client (--cancel)", "{count} 个由客户端放弃（--cancel）";
        InFlightOf =>
            "mean {mean}, peak {peak}, of {configured} configured",
            "平均 {mean}，峰值 {peak}，配置并发 {configured}";
        InFlightFree => "mean {mean}, peak {peak}", "平均 {mean}，峰值 {peak}";
        Tokens => "Tokens", "Token 数";
        TokensOf => "{input} in, {output} out", "输入 {input}，输出 {output}";
        ItemsOf => "{items} items out, {input} tokens in", "输出条目 {items}，输入 token {input}";
        CountedByServer => "as the server counts", "以服务端 usage 为准";
        CountedByUs => "output counted by us after the run", "输出由客户端在测后分词计数";
        NotCounted => "output tokens could not be counted", "没有可用的输出 token 数";
        CachedShare =>
            "{share} of the input from the prefix cache",
            "输入的 {share} 命中前缀缓存";
        Lengths => "Lengths", "平均长度";
        InputLength => "mean {mean} in", "输入 {mean}";
        InputLengthAsked => "mean {mean} in ({asked} asked)", "输入 {mean}（要求 {asked}）";
        OutputLength => "mean {mean} out", "输出 {mean}";
        OutputLengthAsked => "mean {mean} out ({asked} asked)", "输出 {mean}（要求 {asked}）";
        CharsPerToken => "{mean} characters per token", "每 token {mean} 字符";
        Cost => "Cost", "成本";
        CostOf => "at {price} per hour", "按每小时 {price} 计";
        CostOfCards => "at {price} per hour × {cards} cards", "按每小时 {price} × {cards} 卡计";
        CostPerOutput => "{cost} per million output tokens", "每百万输出 token {cost}";
        CostPerTokens => "{cost} with their input", "含输入每百万 token {cost}";
        CostPerItems => "{cost} per million items", "每百万条目 {cost}";
        CostPerRequests => "{cost} per thousand requests", "每千个请求 {cost}";
        Check => "Check", "检查";
        Checked => "{count} answers by {check}", "{count} 个回答，按 {check}";
        DiffersAt =>
            "those that differ do so after {chars} characters (median)",
            "不同的回答在 {chars} 个字符后出现差异（中位数）";
        Unchecked => "{count} not checked: nothing is expected of them", "{count} 个未检查：没有期望答案";
        ByTurn => "By turn (times in ms)", "按轮次（时间单位 ms）";
        Turn => "turn", "轮次";
        InputMean => "input", "输入";
        CachedMean => "cached", "缓存命中";
        PreemptedOf => "preempted", "被抢占";
        OutputMean => "output", "输出";
        Jobs => "Jobs", "任务";
        JobsOf =>
            "{began} sessions: {complete} complete, {failed} failed, {cut} cut by the end of the run",
            "{began} 个会话：完成 {complete}，失败 {failed}，运行结束时截断 {cut}";
        JobsShortened =>
            "1 more cut short by --requests, not counted",
            "另有 1 个因 --requests 截短，不计入";
        JobsPerHour => "{rate} sessions/h", "每小时 {rate} 个会话";
        JobTurns => "{turns} turns each", "每个 {turns} 轮";
        JobTimeOf =>
            "p50 {p50}, p90 {p90}, p99 {p99}, longest complete {max}",
            "p50 {p50}，p90 {p90}，p99 {p99}，已完成中最长 {max}";
        JobsCut =>
            "sessions that were cut count as longer than they had lasted",
            "被截断的会话按“长于已持续时间”计";
        ByModel => "By model (times in ms)", "按模型（时间单位 ms）";
        Model => "model", "模型";
        Structured => "Structured output", "结构化输出";
        JsonAsked => "{count} answers asked to be JSON", "{count} 个回答要求为 JSON";
        ToolsOffered =>
            "{offered} answers were offered tools, {called} call one, {calls} calls",
            "{offered} 个回答可用工具，{called} 个有调用，共 {calls} 次调用";
        InvalidKept => "invalid ones: records/invalid.jsonl", "不合法的回答见 records/invalid.jsonl";
        Media => "Media", "多媒体";
        MediaOf =>
            "{parts} in {requests} requests", "{requests} 个请求共 {parts} 个";
        Uploaded =>
            "{bytes} bytes uploaded ({each} each)", "上传 {bytes} 字节（每个请求 {each}）";
        AudioOf => "{seconds} s of sound", "音频共 {seconds} 秒";
        MediaTokens => "{tokens} input tokens, as the server counts", "占输入 token {tokens}，以服务端计数为准";
        NoMediaTokens => "the server does not count their tokens apart", "服务端未单独计其 token";
        PerUserOf =>
            "mean {mean} tok/s, p50 {median}, slowest {least}",
            "平均 {mean} tok/s，p50 {median}，最慢 {least}";
        DecodeOf =>
            "decode p50 {median} tok/s, slowest {least}",
            "解码 p50 {median} tok/s，最慢 {least}";
        Client => "Client", "客户端";
        ClientLag => "{lag} late at p99", "发送滞后 p99 {lag}";
        ClientPause => "longest pause {pause}", "最长停顿 {pause}";
        ClientPulse => "woken {late} late at p99", "唤醒延迟 p99 {late}";
        ClientCpu => "busiest thread at {share} CPU", "最忙线程 CPU {share}";
        ClientCeiling => "{share} of its own ceiling", "达自身上限的 {share}";
        Latency => "Latency", "时延";
        Mean => "mean", "平均";
        Max => "max", "最大";
        Overloaded => "none: overloaded", "无：过载";
        TooShort => "too short: {count} requests needed", "运行太短：需 {count} 个请求";
        NoValues => "no values: {columns}", "无数值：{columns}";
        TooFew =>
            "* too few independent samples for this percentile (needs {needed} requests)",
            "* 独立样本不足以支撑该百分位（所需请求数：{needed}）";
        NothingAnswered =>
            "No request was answered: there is no throughput and no latency.",
            "没有任何请求得到回答：无吞吐量，也无时延。";
        WhyNotStreamed =>
            "n/a: without a stream, only the end of an answer can be timed",
            "n/a：非流式请求只能测得回答结束的时刻";
        Drift => "Drift", "随时间的变化";
        From => "from", "起始";
        Ok => "ok", "成功";
        Failed => "failed", "失败";
        OutputRate => "output tok/s", "输出 tok/s";
        TtftMedian => "TTFT p50", "TTFT p50";
        Definitions => "Definitions", "指标定义";
        ByActualLength => "Answers by actual length", "按实际长度分组的回答";
        OfAsked => "of the asked length", "占要求长度";
        Answers => "answers", "回答数";
        MeanChars => "characters", "字符数";
        MeanTokens => "tokens", "token 数";
        PerUserRate => "tok/s each", "单路 tok/s";
        MeanE2e => "E2E mean", "E2E 平均";
        ShareBelow => "below {to}", "低于 {to}";
        ShareBetween => "{from} to {to}", "{from} 至 {to}";
        ShareAbove => "{from} or more", "{from} 及以上";
        Asked => "Asked", "要求长度";
        AskedOf =>
            "{asked} characters, in words; {mean} came on average ({share})",
            "提示词中要求 {asked} 字符；实际平均 {mean}（{share}）";
        ShortAnswers => "Odd answers", "异常回答";
        ShortAnswersOf =>
            "{refused} begin like a refusal, {short} have less than a tenth of the asked length",
            "{refused} 个以拒答开头，{short} 个不足要求长度的十分之一";
        TemplateSize => "Template", "模板";
        TemplateChars => "{chars} characters of each prompt", "占每条提示词 {chars} 字符";
        TemplateCharsTokens =>
            "{chars} characters, {tokens} tokens of each prompt",
            "占每条提示词 {chars} 字符、{tokens} token";
    }
}
