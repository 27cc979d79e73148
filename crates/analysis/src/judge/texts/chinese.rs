//! Doubts and their remedies in Simplified Chinese.

use super::{millis, percent, share};
use crate::judge::{Doubt, Lateness};
use inferometer_core::environment::EndCause;
use inferometer_core::record::{FailureClass, Phase};

fn most_often(most: Option<(Phase, FailureClass, u64)>) -> String {
    most.map_or(String::new(), |(phase, class, count)| {
        format!("；最多的是 {phase} 阶段的 {class}（{count} 个）")
    })
}

pub(super) fn text(doubt: &Doubt) -> String {
    match doubt {
        Doubt::LostRequests {
            accounts,
            duplicates,
        } => {
            let found = accounts.ok + accounts.failed + accounts.cut + accounts.unsent;
            if found == accounts.planned && *duplicates == 0 {
                return format!(
                    "计划的 {found} 个请求中有 {} 个从未发出，而运行并未提前结束",
                    accounts.unsent
                );
            }
            let twice = match duplicates {
                0 => String::new(),
                _ => format!("；{duplicates} 条记录的编号重复"),
            };
            format!(
                "计划 {} 个请求，但只能对上 {found} 个（成功 {}，失败 {}，截断 {}，未发 {}）{twice}",
                accounts.planned, accounts.ok, accounts.failed, accounts.cut, accounts.unsent
            )
        }
        Doubt::ShrunkConcurrency {
            configured,
            in_flight,
        } => format!(
            "配置并发 {configured}，在途请求本应为 {:.1}，实际平均只有 {:.1}",
            in_flight.expected, in_flight.seen
        ),
        Doubt::UnfilledStreams {
            configured,
            peak,
            requests,
        } => format!(
            "配置并发 {configured}，但同时在途的请求最多只有 {peak} 个：{requests} 个请求不足以填满并发"
        ),
        Doubt::ClientLate {
            at: Lateness::Sending,
            p99_ms,
            limit_ms,
            ..
        } => format!(
            "客户端自身发送滞后：滞后的 p99 为 {}，允许值为 {}",
            millis(*p99_ms),
            millis(*limit_ms)
        ),
        Doubt::ClientLate {
            at: Lateness::Waking,
            p99_ms,
            limit_ms,
            ..
        } => format!(
            "客户端未能及时获得 CPU：唤醒延迟的 p99 为 {}，允许值为 {}，收到的数据也因此被晚记同样的时间",
            millis(*p99_ms),
            millis(*limit_ms)
        ),
        Doubt::ClientBusy {
            ceiling_share,
            cpu_share,
            ..
        } => {
            let reasons: Vec<String> = [
                ceiling_share.map(|s| format!("最忙的一秒达到本机上限的 {}", percent(s))),
                cpu_share.map(|s| format!("一个客户端线程占用其核的 {}", percent(s))),
            ]
            .into_iter()
            .flatten()
            .collect();
            format!("客户端接近自身极限：{}", reasons.join("；"))
        }
        Doubt::Interrupted { cause } => match cause {
            EndCause::StopCondition => "--stop-when 的条件使运行提前结束",
            EndCause::Signal => "运行未完成即被中断",
            EndCause::Watchdog => "长时间没有任何进展，或客户端线程异常退出，运行被结束",
            EndCause::Killed | EndCause::Complete | EndCause::Precise => {
                "运行被杀死：没有结束记录，最后的请求记录可能缺失"
            }
        }
        .to_owned(),
        Doubt::Failures {
            failed,
            ended,
            most,
            ..
        } => format!(
            "{ended} 个请求中有 {failed} 个失败（{}）{}",
            share(*failed, *ended),
            most_often(*most)
        ),
        Doubt::Resent { resent, sent } => format!(
            "{sent} 个请求中有 {resent} 个（{}）发现保持的连接已被关闭而重发；其时延从第二次发送算起",
            share(*resent, *sent)
        ),
        Doubt::FewSamples { n, lacking } => {
            let lacking: Vec<String> = lacking
                .iter()
                .map(|(percentile, least)| format!("p{percentile}（需要 {least}）"))
                .collect();
            format!(
                "{n} 个请求太少，无法以 99 % 置信度给出 {}",
                lacking.join("、")
            )
        }
        Doubt::OutputLengths {
            mean_difference,
            off,
            exact,
        } => format!(
            "{exact} 个回答中有 {off} 个与要求的长度不符；平均相差 {}",
            percent(*mean_difference)
        ),
        Doubt::OutputCapped { tokens, at, of } => format!(
            "{of} 个回答中有 {at} 个（{}）恰好在 {tokens} token 处被长度上限截止",
            share(*at, *of)
        ),
        Doubt::InputLengths {
            differences: [low, high],
            asked_mean,
        } => format!(
            "服务端统计的提示词 token 数与目标（平均 {asked_mean:.0}）相差 {low:+.0} 至 {high:+.0}；对话模板只会带来一个小的固定差值"
        ),
        Doubt::TokenSource {
            retokenized,
            without_count,
        } => match (retokenized, without_count) {
            (true, 0) => "服务端未返回 usage；输出 token 数由测后对文本分词得到".to_owned(),
            (true, n) => format!(
                "服务端未返回 usage；输出 token 数由测后对文本分词得到，其中 {n} 个回答未知"
            ),
            (false, n) => format!("服务端对 {n} 个回答未返回 usage：其输出 token 数未知"),
        },
        Doubt::ChunkNotToken { tokens_per_chunk } => {
            let seen = tokens_per_chunk.map_or("token 数未知".to_owned(), |n| {
                format!("平均含 {n:.2} 个 token")
            });
            format!("每个 chunk {seen}，因此 ITL 是 chunk 间隔，而非 token 间隔")
        }
        Doubt::WarmCache { cached, of } => format!(
            "{} 的提示词 token 命中服务端前缀缓存（{of} 中的 {cached}），而负载本身并未要求复用",
            share(*cached, *of)
        ),
        Doubt::RepeatedPrompts { distinct, requests } => {
            format!("{requests} 个请求只有 {distinct} 条不同的提示词，前缀缓存可命中其中大部分")
        }
        Doubt::NoSteadyState { answers } => {
            format!("在 {answers} 个回答中，吞吐量、在途请求或 TTFT 始终未趋于稳定")
        }
        Doubt::Overload(seen) => format!(
            "服务端跟不上到达速率：在发送的后半段，在途请求从 {:.1} 升到 {:.1}，TTFT 从 {} 升到 {}",
            seen.in_flight[0],
            seen.in_flight[1],
            millis(seen.ttft_ms[0]),
            millis(seen.ttft_ms[1])
        ),
        Doubt::Stalls { seen, factor } => {
            let worst = seen.worst_ms.zip(seen.its_median_ms);
            let worst = worst.map_or(String::new(), |(worst, median)| {
                format!(
                    "；最长的一次为 {}，而该回答的间隔中位数为 {}",
                    millis(worst),
                    millis(median)
                )
            });
            format!(
                "{} 个回答中有 {} 个（{}）出现停顿，达到自身间隔中位数的 {factor} 倍或以上{worst}",
                seen.requests,
                seen.stalled,
                share(seen.stalled, seen.requests)
            )
        }
        Doubt::AllAtOnce { streams } => match streams {
            Some(n) => {
                format!("前 {n} 个请求同时发出，TTFT 主要是排队时间，各路请求可能始终成批进行")
            }
            None => "所有请求同时发出，TTFT 主要是排队时间".to_owned(),
        },
        Doubt::InStep(waves) => format!(
            "各路请求成批发出：每个请求前后 {} 内另有 {:.1} 个请求发出，若均匀发出则为 {:.1} 个；TTFT 反映的是这种成批到达，同样的负载再跑一次未必如此",
            millis(waves.span_ms),
            waves.seen,
            waves.even
        ),
        Doubt::ServerDied { seen } => format!("测量结束后服务端没有响应：{seen}"),
        Doubt::NothingMeasured { accounts, most } => format!(
            "没有任何请求得到完整回答（失败 {}，截断 {}，未发 {}）{}",
            accounts.failed,
            accounts.cut,
            accounts.unsent,
            most_often(*most)
        ),
    }
}

pub(super) fn remedy(doubt: &Doubt) -> String {
    let remedy = match doubt {
        Doubt::LostRequests { .. } => {
            "不要使用这些数据；请重跑，若再次出现，请附上本次运行目录反馈问题"
        }
        Doubt::ShrunkConcurrency { .. } => {
            "检查客户端是否有中断或等待的请求流；运行 `inferometer doctor URL`，调大 --workers，并检查打开文件数上限"
        }
        Doubt::UnfilledStreams { configured, .. } => {
            return format!(
                "请将 --requests 设为 {} 或更多；扫描时可令其为并发数的 10 倍",
                u64::from(*configured) * 10
            );
        }
        Doubt::ClientLate { .. } => {
            "腾出本机 CPU，换一台不跑服务端的机器来压测，降低 --rate 或调大 --workers；`inferometer doctor` 可给出本机自身误差"
        }
        Doubt::ClientBusy { .. } => {
            "调大 --workers，换更大的机器，或把负载分到多台机器；`inferometer doctor` 可给出本机上限"
        }
        Doubt::Interrupted { cause } => match cause {
            EndCause::StopCondition => "这些数据只代表已运行的部分；去掉 --stop-when 即可测完全程",
            EndCause::Watchdog => {
                "查看客户端屏幕上的提示，以及服务端日志中无响应的那段时间；允许的静默时长由 --read-timeout 决定"
            }
            EndCause::Signal | EndCause::Killed | EndCause::Complete | EndCause::Precise => {
                "重跑并等它结束；用 `--config` 指定已保存的 scenario 即可原样重跑"
            }
        },
        Doubt::Failures { most, .. } | Doubt::NothingMeasured { most, .. } => {
            match most.map(|(_, class, _)| class) {
                Some(class) => failure_remedy(class),
                None => "让请求跑完：调大 --drain 或 --duration，或调小 --output-tokens",
            }
        }
        Doubt::Resent { .. } => {
            "服务端会关闭保持的连接：在其日志中查找 keep-alive 限制或崩溃的 worker"
        }
        Doubt::FewSamples { lacking, .. } => {
            let least = lacking
                .iter()
                .map(|(_, least)| *least)
                .max()
                .unwrap_or_default();
            return format!("增加请求数，例如 --requests {least}，否则不要引用这些百分位");
        }
        Doubt::OutputLengths { .. } => {
            "确认服务端支持 ignore_eos 或 min_tokens（`inferometer doctor URL`），且 --output-tokens 不超出其上下文；只与实际长度相同的运行比较"
        }
        Doubt::OutputCapped { .. } => {
            "若希望回答自然结束，调大 --max-tokens（或 --output-tokens）；若要固定长度，使用 --ignore-eos"
        }
        Doubt::InputLengths { .. } => "引用服务端的计数，或调整 --input-tokens 使其符合预期",
        Doubt::TokenSource { .. } => {
            "在服务端打开 usage（stream_options.include_usage）；没有它就没有 token 吞吐量和 TPOT"
        }
        Doubt::ChunkNotToken { .. } => {
            "以 TPOT 为准，或让服务端每个 chunk 只发一个 token，或在每个 chunk 中带 usage"
        }
        Doubt::WarmCache { .. } => {
            "加 --cache-nonce 或换一个 --seed，运行前重置服务端前缀缓存，或将其关闭"
        }
        Doubt::RepeatedPrompts { .. } => {
            "用 --input-tokens 生成合成提示词，或换行数更多的 --data 文件；只有真实用户确实会重复时才保留"
        }
        Doubt::NoSteadyState { .. } => {
            "延长运行（--requests 或 --duration），--warmup 至少覆盖一批请求；不要把该吞吐量当作服务端可持续的能力"
        }
        Doubt::Overload(_) => "降低 --rate；过载时的时延随运行时长增长，不能说明服务端的性能",
        Doubt::Stalls { .. } => {
            "结合 ITL 看最大间隔；在服务端日志中查找对应时刻的抢占、长 prefill 或换出"
        }
        Doubt::AllAtOnce { streams } => match streams {
            Some(_) => {
                "使用 --stagger auto 并配合 --warmup，或指定时间如 --stagger 2s；除非要测的就是突发"
            }
            None => "给出有限的 --rate；除非要测的就是突发",
        },
        Doubt::InStep(_) => {
            "让长度有变化，例如 --output-tokens uniform(64,192)，或改用 --rate 压测；TTFT 只与处于相同状态的运行比较"
        }
        Doubt::ServerDied { .. } => "查看服务端日志末尾；重启后用更小的负载再测",
    };
    remedy.to_owned()
}

fn failure_remedy(class: FailureClass) -> &'static str {
    match class {
        FailureClass::NameNotFound => "检查 URL 中的主机名",
        FailureClass::Refused => "检查 URL 和端口，并确认服务端已启动完成",
        FailureClass::Disconnected | FailureClass::CutStream => {
            "查看服务端在失败时刻的日志，并检查中间是否有超时过短的代理"
        }
        FailureClass::Network => "检查本机与服务端之间的网络",
        FailureClass::TlsFailed => "用 --ca 指定 CA 证书",
        FailureClass::Unauthorized => "用 --api-key-env 或 --api-key-file 提供密钥",
        FailureClass::NotFound => "检查 URL 的路径、--api 和 --model",
        FailureClass::ContextExceeded => {
            "调小 --input-tokens 或 --output-tokens，使其不超出模型上下文"
        }
        FailureClass::RateLimited => "把 --rate 或 --concurrency 降到服务端限流以下",
        FailureClass::BadRequest => "查看返回体样例；可能是 --extra 中的字段或 --model 被拒绝",
        FailureClass::Redirected => "把 URL 改为服务端重定向到的地址",
        FailureClass::ServerError | FailureClass::InBandError => {
            "查看返回体样例和服务端日志，并降低负载直到它能正常响应"
        }
        FailureClass::EmptyStream | FailureClass::BadStream => {
            "检查 --api，并确认没有代理改写流；--no-stream 可能给出更多信息"
        }
        FailureClass::ConnectTimeout => "检查主机是否可达，或调大 --connect-timeout",
        FailureClass::ReadTimeout => "降低负载，或调大 --read-timeout",
        FailureClass::RequestTimeout => "降低负载，或调大 --request-timeout",
    }
}
