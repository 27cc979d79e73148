//! What a doubt means wherever it is raised, and what to do: for reports of many runs, which
//! cannot tell the numbers of each.

use inferometer_core::doubt::DoubtCode;

inferometer_text::texts! {
    pub enum DoubtMeaning {
        Lost => "planned requests are in no account, or were counted twice", "有计划内的请求不在任何统计中，或被重复统计";
        LostRemedy => "do not use these numbers; measure the points again", "不要使用这些数据；请重测这些测点";
        Shrunk => "fewer requests were under way than configured", "在途请求数少于设定的并发数";
        ShrunkRemedy => "run `inferometer doctor URL`, raise --workers, and check the limit of open files", "运行 `inferometer doctor URL`，调大 --workers，并检查打开文件数上限";
        Unfilled => "too few requests to fill the streams: the load never was what its name says", "请求太少，未能填满并发：实际负载从未达到所标的并发数";
        UnfilledRemedy => "give --requests 'concurrency*10'", "使用 --requests 'concurrency*10'";
        Late => "the client itself was late to send or to receive", "客户端自身发送或接收滞后";
        LateRemedy => "free this host's CPU, or measure from another host", "腾出本机 CPU，或换一台机器压测";
        Busy => "the client was near its own limit", "客户端接近自身上限";
        BusyRemedy => "raise --workers, or measure from a larger host", "调大 --workers，或换更大的机器";
        Interrupted => "the measurement did not end by itself", "测量未正常结束";
        InterruptedRemedy => "run the same command again to finish", "再次运行同一命令即可补完";
        MissingRanks => "fewer ranks than asked for carried the load", "分担负载的 rank 少于要求";
        MissingRanksRemedy => "start all ranks, or leave out --at-least", "启动全部 rank，或去掉 --at-least";
        ClockError => "the clocks of the ranks could not be compared well enough for shared arrivals", "各 rank 的时钟比对误差过大，不适合共同发送开环负载";
        ClockErrorRemedy => "put the ranks into one network, or let one rank send the load", "把各 rank 放在同一网络内，或只用一个 rank 发送负载";
        Failures => "requests failed; the report of each point has their classes and samples", "有请求失败；各测点的报告列有类别与样例";
        UnmeasuredFailures => "requests that warm up or hold the load failed, so that the measured ones had less load beside them", "用于预热或保持负载的请求失败，被测请求旁边的负载因此偏小";
        FailuresRemedy => "read the server's log, and lower the load until it answers", "查看服务端日志，并降低负载直至其正常应答";
        Resent => "kept connections were found closed, and requests went out again", "保持的连接已被关闭，请求被重发";
        ResentRemedy => "look in the server's log for a keep-alive limit or for workers that crash", "在服务端日志中查找 keep-alive 限制或崩溃的 worker";
        NotStreamed => "answers that should have been streamed came whole: their TTFT is their latency", "应流式返回的回答整段到达：其 TTFT 等于端到端时延";
        NotStreamedRemedy => "look for a proxy that buffers, or a server that ignores stream", "检查是否有代理缓冲了流，或服务端忽略了 stream";
        OtherModel => "another model may have answered than was asked for", "作答的可能不是所请求的模型";
        OtherModelRemedy => "name the model that you mean with --model", "用 --model 写明要测的模型";
        DelayedAck => "first tokens on kept connections wait for a delayed acknowledgement", "保持的连接上，首 token 要等待被延迟的确认";
        DelayedAckRemedy => "set TCP_NODELAY in the server, or in the proxy before it", "在服务端或其前面的代理设置 TCP_NODELAY";
        Usage => "the server's counts of output tokens cannot be true", "服务端统计的输出 token 数不可能为真";
        UsageRemedy => "do not quote figures made of tokens; ask whoever counts (the server, or a proxy before it) why usage disagrees with the text", "不要引用与 token 有关的数据；查明计数者（服务端或其前面的代理）的 usage 为何与文本不符";
        OutputLengths => "answers do not have the length that was asked for", "回答长度与要求不符";
        OutputLengthsRemedy => "check that the server takes ignore_eos or min_tokens; compare only runs of the same received lengths", "确认服务端支持 ignore_eos 或 min_tokens；只比较实际长度相同的运行";
        InputLengths => "the server counts other prompt lengths than were aimed at", "服务端统计的输入长度与预期不符";
        InputLengthsRemedy => "quote the server's counts, or choose --input-tokens so that they come out as wanted", "引用服务端的计数，或调整 --input-tokens 使其符合预期";
        WarmCache => "prompts were found in the server's prefix cache, which the workload did not ask for", "输入命中了服务端的前缀缓存，而负载并未要求";
        WarmCacheRemedy => "run synthetic prompts with --cache-nonce; rows of a data file are never altered: give one with more rows, or reset the server's prefix cache before each point", "合成输入请使用 --cache-nonce；数据文件的内容不会被改动：请换行数更多的文件，或在每个测点前清空服务端的前缀缓存";
        Repeated => "the same prompts were sent again and again", "相同的输入被反复发送";
        RepeatedRemedy => "use --input-tokens for synthetic prompts, or a --data file with more lines", "用 --input-tokens 合成输入，或使用行数更多的 --data 文件";
        Unsteady => "throughput, requests under way or TTFT never settled", "吞吐量、在途请求数或 TTFT 始终未稳定";
        UnsteadyRemedy => "send more requests at each point; do not quote throughput as what the server sustains", "增加每个测点的请求数；不要把吞吐量当作服务端可持续的水平";
        Overload => "the server fell behind the arrivals: requests under way and TTFT both rose", "服务端跟不上到达速率：在途请求数与 TTFT 同时上升";
        OverloadRemedy => "latencies of these points grow with the length of the run; quote lower rates", "这些测点的时延随运行时长增长；请引用更低的速率";
        Short => "the measured window holds fewer answers in a row than throughput needs", "测量窗口内先后完成的回答太少，吞吐量尚不可靠";
        ShortRemedy => "send more requests at each point: five times the concurrency or more", "增加每个测点的请求数：至少为并发数的五倍";
        Drift => "the server became slower or faster while it was measured, so that one number does not describe it", "服务端在测量期间变慢或变快，单个数字无法描述它";
        DriftRemedy => "warm up for longer (--warmup), make sure that nobody else uses the server, and measure again", "延长预热（--warmup），确认没有其他人使用该服务端，然后重新测量";
        Stragglers => "most streams were idle at the end while a few slow answers were waited for, so that throughput is too low", "结尾时大多数并发路空闲，在等少数很慢的回答，吞吐量因此偏低";
        StragglersRemedy => "leave out --hold, or raise --requests; look at why these answers were slow", "不要使用 --hold，或增大 --requests；并查明这些回答为何很慢";
        Capped => "most answers were ended by a limit at one length, so that nothing is known of their own lengths", "大多数回答在同一长度处被上限截止，无从得知其自然长度";
        CappedRemedy => "raise --max-tokens, or the server's own limit (MindIE: maxIterTimes) where that is the lower one", "调大 --max-tokens；若服务端自身的上限更低（MindIE 为 maxIterTimes），则提高该上限";
        InStep => "the streams sent in waves, so that TTFT is that of a wave; the same load may run without", "各路请求成批发出，TTFT 反映的是成批到达；同样的负载再跑一次未必如此";
        InStepRemedy => "vary the lengths, as in --output-tokens uniform(64,192), or measure with --rate", "让长度有变化，例如 --output-tokens uniform(64,192)，或改用 --rate 压测";
        Burst => "the requests began at once, so that TTFT is that of a burst and mostly queueing", "请求同时发出，TTFT 反映的是突发，主要是排队时间";
        BurstRemedy => "leave out --warmup none and --stagger none for the TTFT of a steady load, unless a burst is what you want to measure", "要得到稳定负载的 TTFT，请去掉 --warmup none 与 --stagger none；除非要测的就是突发";
        Died => "the server did not answer after the measurement", "测量结束后服务端没有响应";
        DiedRemedy => "read the end of the server's log; start it again and measure with less load", "查看服务端日志末尾；重启后用更低的负载测量";
        Nothing => "no request was answered completely", "没有任何请求得到完整回答";
        NothingRemedy => "read the samples in the reports of these points, and the server's log", "查看这些测点报告中的样例和服务端日志";
    }
}

impl DoubtMeaning {
    /// Meaning and remedy; absent for doubts that are never more than a note on one run.
    pub fn of(code: DoubtCode) -> Option<[DoubtMeaning; 2]> {
        use DoubtMeaning as M;
        Some(match code {
            DoubtCode::LostRequests => [M::Lost, M::LostRemedy],
            DoubtCode::ShrunkConcurrency => [M::Shrunk, M::ShrunkRemedy],
            DoubtCode::UnfilledStreams => [M::Unfilled, M::UnfilledRemedy],
            DoubtCode::ClientLate => [M::Late, M::LateRemedy],
            DoubtCode::ClientBusy => [M::Busy, M::BusyRemedy],
            DoubtCode::Interrupted => [M::Interrupted, M::InterruptedRemedy],
            DoubtCode::Failures => [M::Failures, M::FailuresRemedy],
            DoubtCode::UnmeasuredFailures => [M::UnmeasuredFailures, M::FailuresRemedy],
            DoubtCode::Resent => [M::Resent, M::ResentRemedy],
            DoubtCode::NotStreamed => [M::NotStreamed, M::NotStreamedRemedy],
            DoubtCode::OtherModel => [M::OtherModel, M::OtherModelRemedy],
            DoubtCode::DelayedAck => [M::DelayedAck, M::DelayedAckRemedy],
            DoubtCode::ImplausibleUsage => [M::Usage, M::UsageRemedy],
            DoubtCode::OutputLengths => [M::OutputLengths, M::OutputLengthsRemedy],
            DoubtCode::OutputCapped => [M::Capped, M::CappedRemedy],
            DoubtCode::InputLengths => [M::InputLengths, M::InputLengthsRemedy],
            DoubtCode::WarmCache => [M::WarmCache, M::WarmCacheRemedy],
            DoubtCode::RepeatedPrompts => [M::Repeated, M::RepeatedRemedy],
            DoubtCode::NoSteadyState => [M::Unsteady, M::UnsteadyRemedy],
            DoubtCode::Overload => [M::Overload, M::OverloadRemedy],
            DoubtCode::ShortWindow => [M::Short, M::ShortRemedy],
            DoubtCode::Drift => [M::Drift, M::DriftRemedy],
            DoubtCode::Stragglers => [M::Stragglers, M::StragglersRemedy],
            DoubtCode::InStep => [M::InStep, M::InStepRemedy],
            DoubtCode::AllAtOnce => [M::Burst, M::BurstRemedy],
            DoubtCode::ServerDied => [M::Died, M::DiedRemedy],
            DoubtCode::NothingMeasured => [M::Nothing, M::NothingRemedy],
            DoubtCode::MissingRanks => [M::MissingRanks, M::MissingRanksRemedy],
            DoubtCode::ClockError => [M::ClockError, M::ClockErrorRemedy],
            DoubtCode::FewSamples
            | DoubtCode::ClosedConnections
            | DoubtCode::TokenSource
            | DoubtCode::ChunkNotToken
            | DoubtCode::Stalls
            | DoubtCode::FrontEnd
            // Of imports alone, whose reports state its words.
            | DoubtCode::DoubtedByAuthor => return None,
        })
    }
}
