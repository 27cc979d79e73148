//! The numbers of a run and the accounts that they rest on.

use inferometer_text::texts;

texts! {
    /// Headings, columns and facts around the numbers.
    pub enum NumbersText {
        /// Heading: the few numbers that matter.
        Result => "Result", "结果";
        /// Column: value in the steady state of `{time}`.
        SteadyState => "steady ({time})", "稳态（{time}）";
        /// Row: median of `{metric}`.
        Median => "{metric}, median", "{metric} 中位数";
        /// Key: accounting of requests.
        Accounts => "Requests", "请求数";
        /// `{count}` sent once more.
        Resent =>
            "{count} found their connection closed by the server and were sent again on a new \
             one",
            "{count} 个请求发现连接已被服务端关闭，在新连接上重发";
        /// `{ok}`, `{failed}`, `{cut}`, `{unsent}`, `{planned}`.
        AccountsOf =>
            "{ok} ok, {failed} failed, {cut} cut, {unsent} unsent; {planned} planned",
            "成功 {ok}，失败 {failed}，截断 {cut}，未发 {unsent}；计划 {planned}";
        /// `{mean}` and `{peak}` of `{configured}`.
        InFlightOf =>
            "mean {mean}, peak {peak}, of {configured} configured",
            "平均 {mean}，峰值 {peak}，配置并发 {configured}";
        /// `{mean}` and `{peak}`.
        InFlightFree => "mean {mean}, peak {peak}", "平均 {mean}，峰值 {peak}";
        /// Key: token totals.
        Tokens => "Tokens", "Token 数";
        /// `{input}` and `{output}`.
        TokensOf => "{input} in, {output} out", "输入 {input}，输出 {output}";
        /// Counted by the server.
        CountedByServer => "as the server counts", "以服务端 usage 为准";
        /// Counted by us.
        CountedByUs => "output counted by us after the run", "输出由客户端在测后分词计数";
        /// Counted by nobody.
        NotCounted => "no count of output tokens to be had", "没有可用的输出 token 数";
        /// `{share}` of the prompt tokens were cached.
        CachedShare =>
            "{share} of the input from the prefix cache",
            "输入的 {share} 命中前缀缓存";
        /// Key: mean lengths.
        Lengths => "Lengths", "平均长度";
        /// Mean prompt length `{mean}`.
        InputLength => "mean {mean} in", "输入 {mean}";
        /// Mean prompt length `{mean}` of `{asked}`.
        InputLengthAsked => "mean {mean} in ({asked} asked)", "输入 {mean}（要求 {asked}）";
        /// Mean answer length `{mean}`.
        OutputLength => "mean {mean} out", "输出 {mean}";
        /// Mean answer length `{mean}` of `{asked}`.
        OutputLengthAsked => "mean {mean} out ({asked} asked)", "输出 {mean}（要求 {asked}）";
        /// `{mean}` characters in a token.
        CharsPerToken => "{mean} characters a token", "每 token {mean} 字符";
        /// `{mean}`, `{median}` and `{least}` tokens a second.
        PerUserOf =>
            "mean {mean} tok/s, p50 {median}, slowest {least}",
            "平均 {mean} tok/s，p50 {median}，最慢 {least}";
        /// The median of decoding alone.
        DecodeOf =>
            "decode p50 {median} tok/s, slowest {least}",
            "解码 p50 {median} tok/s，最慢 {least}";
        /// Key: the client's own state.
        Client => "Client", "客户端";
        /// `{lag}` late at p99.
        ClientLag => "{lag} late at p99", "发送滞后 p99 {lag}";
        /// How late the client was woken.
        ClientPulse => "woken {late} late at p99", "唤醒延迟 p99 {late}";
        /// `{share}` of a core.
        ClientCpu => "busiest thread at {share} CPU", "最忙线程 CPU {share}";
        /// `{share}` of the ceiling.
        ClientCeiling => "{share} of its own ceiling", "达自身上限的 {share}";
        /// Heading: latencies.
        Latency => "Latency", "时延";
        /// Column: mean.
        Mean => "mean", "平均";
        /// Column: maximum.
        Max => "max", "最大";
        /// Footnote to a percentile with too few samples; `{least}`.
        TooFew =>
            "* too few samples for this percentile ({least})",
            "* 样本不足以支撑该百分位（至少需要 {least}）";
        /// In place of the numbers of a run without an answer.
        NothingAnswered =>
            "No request was answered: there is no throughput and no latency.",
            "没有任何请求得到回答：无吞吐量，也无时延。";
        /// Footnote where no stream was asked for.
        WhyNotStreamed =>
            "n/a: without a stream, only the end of an answer can be timed",
            "n/a：非流式请求只能测得回答结束的时刻";
        /// Heading: change over a soak.
        Drift => "Drift", "随时间的变化";
        /// Column: begin of a part.
        From => "from", "起始";
        /// Column: complete answers.
        Ok => "ok", "成功";
        /// Column: failures.
        Failed => "failed", "失败";
        /// Column: output tokens a second.
        OutputRate => "output tok/s", "输出 tok/s";
        /// Column: median TTFT.
        TtftMedian => "TTFT p50", "TTFT p50";
        /// Heading: definitions.
        Definitions => "Definitions", "指标定义";
        /// Heading: answers by the length that came.
        ByActualLength => "Answers by actual length", "按实际长度分组的回答";
        /// Column: share of the asked length.
        OfAsked => "of the asked length", "占要求长度";
        /// Column: how many answers.
        Answers => "answers", "回答数";
        /// Column: mean characters.
        MeanChars => "characters", "字符数";
        /// Column: mean tokens.
        MeanTokens => "tokens", "token 数";
        /// Column: output tokens a second of one user.
        PerUserRate => "tok/s each", "单路 tok/s";
        /// Column: mean latency.
        MeanE2e => "E2E mean", "E2E 平均";
        /// Below `{to}`.
        ShareBelow => "below {to}", "低于 {to}";
        /// From `{from}` to `{to}`.
        ShareBetween => "{from} to {to}", "{from} 至 {to}";
        /// From `{from}` on.
        ShareAbove => "{from} and more", "{from} 及以上";
        /// Key: asked and actual length.
        Asked => "Asked", "要求长度";
        /// `{asked}` characters, and `{mean}` came.
        AskedOf =>
            "{asked} characters, in words; {mean} came on average ({share})",
            "提示词中要求 {asked} 字符；实际平均 {mean}（{share}）";
        /// Key: answers that are none.
        ShortAnswers => "Odd answers", "异常回答";
        /// `{refused}` and `{short}`.
        ShortAnswersOf =>
            "{refused} open like a refusal, {short} have less than a tenth of the asked length",
            "{refused} 个以拒答开头，{short} 个不足要求长度的十分之一";
        /// Key: the template's own size.
        TemplateSize => "Template", "模板";
        /// `{chars}` of each prompt.
        TemplateChars => "{chars} characters of each prompt", "占每条提示词 {chars} 字符";
        /// `{chars}` and `{tokens}` of each prompt.
        TemplateCharsTokens =>
            "{chars} characters, {tokens} tokens of each prompt",
            "占每条提示词 {chars} 字符、{tokens} token";
    }
}
