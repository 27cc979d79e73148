//! Doubts about results of other tools.

inferometer_text::texts! {
    /// What an import doubts, and what to do about it. Those that carry `{name}` are templates.
    pub enum ImportDoubtText {
        Lost => "{missing} of {planned} requests are missing ({ended} ended, {failed} reported as failed)", "{planned} 个请求中有 {missing} 个下落不明（结束 {ended} 个，其中报告失败 {failed} 个）";
        LostSilently => "{missing} of {planned} requests are missing ({ended} ended, failures are not reported)", "{planned} 个请求中有 {missing} 个下落不明（结束 {ended} 个，未报告失败数）";
        LostRemedy => "measure again with a client that accounts for every request", "请用能交代每个请求去向的客户端重新测量";
        Failed => "{failed} of {all} requests failed ({share})", "{all} 个请求中失败 {failed} 个（{share}）";
        FailedOfUnknown => "{failed} requests failed; how many were sent is not stated", "失败 {failed} 个请求；未写明共发出多少个";
        FailedRemedy => "see why they failed; the numbers are of the others only", "请查明失败原因；这些数字只含其余请求";
        FailedShare => "{share} of the requests failed", "{share} 的请求失败";
        Twice => "`{name}` is {passed_over} and was {kept} before", "“{name}”为 {passed_over}，而前文已给出 {kept}";
        TwiceRemedy => "the first is kept; see in the source which of them is meant", "保留先出现的数值；请核对来源中以哪个为准";
        FirstAfterEnd => "mean time to first token is {ttft} ms, mean latency {e2e} ms: no request ends before it begins", "平均首 token 时延为 {ttft} ms，而平均端到端时延为 {e2e} ms：请求不可能在首 token 之前结束";
        FirstAfterEndRemedy => "check the units and which latency is meant; use neither until then", "请核对单位与时延口径；核对前两者都不可用";
        Shrunk => "requests/s × latency is {under_way}, of {configured} configured ({expected} after ramp and drain): fewer requests were under way than configured", "QPS × 时延为 {under_way}，而设定并发为 {configured}（扣除起步与收尾后应为 {expected}）：同时进行的请求少于设定值";
        ShrunkRemedy => "do not read this point as the server's limit; find out what held requests back (the client, a proxy, a limit on the rate) and measure again", "不要把该点当作服务端上限；请查明是什么限制了请求（客户端、代理或速率限制），再重新测量";
        OtherRate => "{sent} requests/s were completed, though {asked} requests/s were asked for: more arrived than chance explains", "实际完成 {sent} 请求/秒，而设定为 {asked} 请求/秒：到达的请求多于随机波动所能解释的数量";
        OtherRateRemedy => "read this point as one of the higher rate; the client did not keep the rate it was given", "请按实际的更高速率理解该点；客户端没有保持设定的速率";
        Overload => "{offered} requests/s were offered and {done} completed ({share}): the server did not keep up, or the test was short beside its answers", "到达速率为 {offered} 请求/秒，完成 {done} 请求/秒（{share}）：服务端跟不上到达速率，或测试时长相对回答时长太短";
        OverloadRemedy => "take the completed rate as its throughput; its latencies grow with the length of the test: quote those of lower rates", "吞吐量以完成速率为准；其时延随测试时长增长，请引用更低速率下的时延";
        UnreadAccounts => "{names} could not be read: requests may have failed that are counted nowhere", "无法读取 {names}：可能有未计入的失败请求";
        UnreadAccountsRemedy => "name the columns as in the manual (requests, ok, failed, rejected, timeouts) and give plain counts", "请按手册命名这些列（请求数、成功、失败、拒绝、超时），并给出整数";
        NotStreamed => "time to first token equals latency: answers were not streamed", "首 token 时延等于端到端时延：未采用流式输出";
        NotStreamedRemedy => "ignore its time to first token", "忽略其首 token 时延";
        Flat => "percentiles of {metric} are equal to the last digit: one number, not a sample", "{metric} 的各百分位逐位相同：只是一个数，不是样本分布";
        FlatRemedy => "use it as a mean at most", "至多当作均值使用";
        Disordered => "{metric}: {lower} is {lower_value} but {upper} is {upper_value}", "{metric}：{lower} 为 {lower_value}，而 {upper} 为 {upper_value}";
        DisorderedRemedy => "look at the source; a number was mistyped or columns were swapped", "请核对来源：可能录入有误或列被调换";
        Contradiction => "{printed} is {value}, but {from} is {follows}", "{printed} 为 {value}，但 {from} 为 {follows}";
        ContradictionRemedy => "one of the numbers is of another run or counts something else; do not compare by it", "其中一个数来自另一次运行或口径不同；不要据此比较";
        UnlikeRepeats => "{load} is there twice (lines {lines}), and {name} is {a} and {b}", "{load} 出现两次（第 {lines} 行），{name} 分别为 {a} 与 {b}";
        UnlikeRepeatsRemedy => "repeats do not differ that much: name what else differs, or measure again", "重复测量不应相差这么多：请注明两者还有什么不同，或重新测量";
        ToldFailures => "lines beside it tell of {count} failed or refused requests that it does not count: {sample}", "其前后的日志行显示有 {count} 个请求失败或被拒绝，而结果中未计入：{sample}";
        EndedRequests => "the number of requests that ended", "结束的请求数";
        PlannedRequests => "the number of requests sent", "发出的请求数";
        StreamsTimesSpeed => "concurrency × speed per user", "并发数 × 每用户速度";
        TokensPerChar => "the number of tokens per character", "每字符 token 数";
        ALatency => "a latency in ms", "某项时延（ms）";
        MostPossible => "the most that is possible at all", "可能的上限";
        OutputThroughput => "output throughput", "输出吞吐量";
        InputThroughput => "input throughput", "输入吞吐量";
        TotalThroughput => "total throughput", "总吞吐量";
        Qps => "requests/s", "每秒请求数";
        QpsTimesOutput => "requests/s × mean output", "每秒请求数 × 平均输出长度";
        OutputOverTime => "output tokens / duration", "输出 token 数 ÷ 总耗时";
        InputOverTime => "input tokens / duration", "输入 token 数 ÷ 总耗时";
        SumOfBoth => "input + output throughput", "输入吞吐量 + 输出吞吐量";
        RequestsOverTime => "successful requests / duration", "成功请求数 ÷ 总耗时";
        Capped => "most outputs end at {cap} tokens", "多数输出止于 {cap} 个 token";
        CappedRemedy => "longer answers were cut: latency and throughput are those of the cap", "更长的回答被截断：时延与吞吐量反映的是该上限";
        FewSamples => "{count} requests cannot carry {ranks}", "{count} 个请求不足以支撑 {ranks}";
        FewSamplesRemedy => "measure {least} requests or more", "请至少测量 {least} 个请求";
        AllAtOnce => "rate inf without a cap: time to first token is mostly time in the queue", "请求速率 inf 且无并发上限：首 token 时延主要是排队时间";
        AllAtOnceRemedy => "read throughput from it, not latency", "只取吞吐量，不取时延";
        TableContradicts => "the table contradicts the block in lines {first}–{last}: {apart}", "表格与第 {first}–{last} 行的结果块不符：{apart}";
        Apart => "{name} {value} against {other}", "{name} {value} 对 {other}";
        TableRemedy => "trust the block; the table was typed by hand", "以结果块为准；表格系手工录入";
        TableRemedyCopied => "the block gives one number for all these percentiles, which is a copy: trust neither before you have seen what the tool printed", "结果块的这些百分位是同一个数的复制：核对工具的原始输出之前，两者都不可信";
        TokenOffset => "mean input is {mean}, a constant {offset} tokens from the {base} of another row", "平均输入 {mean}，与另一行的 {base} 恒差 {offset} 个 token";
        TokenOffsetRemedy => "check which of them counts the chat template or begin tokens", "请核对哪一方计入了对话模板或起始 token";
        HeadingNumber => "the heading says {number}, and no flag of the command does", "标题写的是 {number}，而命令行参数中没有该值";
        HeadingSwitch => "the heading says {word}, and the command has --enable-chunked-prefill {given}", "标题写的是 {word}，而命令行为 --enable-chunked-prefill {given}";
        HeadingRemedy => "the command or the heading was copied from another run", "命令或标题抄自另一次运行";
        HeadingConcurrency => "the heading says concurrency {said}, the result {configured}", "标题写的并发数为 {said}，结果中为 {configured}";
        MarkedInvalid => "inferometer called this run INVALID ({codes})", "inferometer 已判定该次运行无效（{codes}）";
        MarkedInvalidRemedy => "measure again as the report of the run says", "请按该次运行的报告所述重新测量";
        HeadingBlockRemedy => "the heading or the block was copied from another run", "标题或结果块抄自另一次运行";
    }
}
