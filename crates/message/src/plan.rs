//! What `plan` says.

inferometer_text::texts! {
    /// Texts of memory answers, calibrations and predictions.
    pub enum PlanText {
        Memory => "Memory of one card", "单卡显存";
        Engine => "engine", "推理引擎";
        Device => "device", "设备";
        Cards => "cards", "卡数";
        Weights => "weights", "权重";
        Activations => "activations", "激活";
        Graphs => "graphs", "CUDA 图";
        System => "system", "系统";
        KvCache => "KV cache", "KV 缓存";
        EngineOnDevice => "Engine and card", "推理引擎与设备";
        Unused => "unused", "未用";
        Total => "total", "总计";
        Gib => "GiB", "GiB";
        KvPerToken => "KV per token, KiB", "每 token KV，KiB";
        Popular => "by the popular formula, KiB", "常见公式算得，KiB";
        Factor => "overstated by a factor of", "高估倍数";
        KvTokens => "KV tokens", "KV token 数";
        Blocks => "blocks", "块数";
        MaxModelLen => "max-model-len", "max-model-len";
        Longest => "largest max-model-len", "最大可用 max-model-len";
        Concurrency => "requests of {tokens} tokens at once", "{tokens} token 请求的最大并发数";
        Fits => "FITS", "可容纳";
        DoesNotFit => "DOES NOT FIT", "放不下";
        NoCache => "{engine} on {device} lacks {gib} GiB per card for the smallest cache", "{device} 上的 {engine} 每卡还差 {gib} GiB 才有最小的 KV 缓存";
        TooLong => "{engine} on {device} lacks {gib} GiB per card for one request of {tokens} tokens", "{device} 上的 {engine} 每卡还差 {gib} GiB 才放得下一个 {tokens} token 的请求";
        CacheTooLarge => "{engine} on {device} lacks {gib} GiB per card for the KV cache that its flags ask for", "{device} 上的 {engine} 每卡还差 {gib} GiB 才放得下参数所要求的 KV 缓存";
        SmallerCache => "a KV cache of at most {gib} GiB per card", "每卡 KV 缓存不超过 {gib} GiB";
        LongerThanMax => "requests of {tokens} tokens are longer than max-model-len {most}: they are refused, so none can run", "{tokens} token 的请求超过 max-model-len {most}，会被拒绝，故无并发数";
        NotCounted => "not counted in the weights: {names}; give a folder or URL with the weight files to count everything", "权重未计入：{names}；给出含权重文件的目录或 URL 即可全部计入";
        CardEnd => "end of the card", "显存上限";
        Holds => "{engine} on {device} holds {tokens} tokens of KV cache", "{device} 上的 {engine} 可存 {tokens} 个 token 的 KV 缓存";
        HoldsEach => "{engine} on {device} holds {tokens} tokens of KV cache in each of {replicas} replicas", "{device} 上的 {engine} 每个副本（共 {replicas} 个）可存 {tokens} 个 token 的 KV 缓存";
        PerReplica => "{n} replicas: KV tokens, blocks and requests at once are those of one replica", "共 {n} 个副本：KV token 数、块数与并发数均为单个副本的值";
        PoorestStage => "pipeline stage {n} of {all} is shown ({layers} layers): its cache holds the fewest tokens, and the others have no more blocks", "所示为流水线第 {n}/{all} 段（{layers} 层）：其 KV 缓存容量最小，其他段的块数与之相同";
        Fp8Converted => "{device} does not compute in FP8: the KV cache is stored in it and converted to 16 bits in every step, so that it holds more tokens and need not be faster: measure it", "{device} 不支持 FP8 计算：KV cache 以 FP8 存储，每一步转换为 16 位，因此容量更大，但未必更快：请实测";
        Fp8ByFlashInfer => "{device} does not compute in FP8: vLLM 0.8 and later store a KV cache in it with FlashInfer's kernels only (converted to 16 bits in every step: more tokens, not surely faster; measure it) and refuse to start with others", "{device} 不支持 FP8 计算：vLLM 0.8 及以后仅在使用 FlashInfer 内核时以 FP8 存储 KV cache（每一步转换为 16 位：容量更大，未必更快，请实测），使用其他内核则拒绝启动";
        Fp8Weights => "{device} does not compute in FP8: weights in it take less memory and are computed in 16 bits, which need not be faster: measure it", "{device} 不支持 FP8 计算：FP8 权重占用更少显存，但以 16 位计算，未必更快：请实测";
        Fp8Refused => "{device} does not compute in FP8, and no attention kernels of vLLM 0.8 and later read a KV cache in it there: vLLM refuses to start", "{device} 不支持 FP8 计算，vLLM 0.8 及以后也没有能在该卡上读取 FP8 KV cache 的注意力内核：vLLM 拒绝启动";
        EngineWarns => "without the effect that was asked for: {text}", "未如所求生效：{text}";
        FlagsNotCounted => "given, but not counted: {names}; memory use will differ accordingly", "已给出但未计入：{names}；实际显存会有相应差异";
        NpuMemSize => "{automatic} (-1), {by_hand} (0.8 × rest)", "{automatic}（-1），{by_hand}（剩余显存 × 0.8）";
        OnCards => "{flag} on {cards} cards (--cards {cards})", "{flag}，共 {cards} 张卡（--cards {cards}）";
        WouldFit => "would fit with", "以下做法可行";
        NothingFits => "no remedy tried fits: more cards up to 16, 8 or 4 bits, a shorter max-model-len", "试过的办法（至多 16 卡、8 或 4 位量化、更短的 max-model-len）都不行";
        FromShape => "weights are computed from the shape", "权重由模型结构推算";
        FromHeaders => "weights are summed from the safetensors headers", "权重取自 safetensors 文件头";
        Mindie => "MindIE's settings for {input} + {output} tokens", "MindIE 配置（{input} + {output} token）";
        Calibration => "Calibration", "标定";
        Point => "point", "负载点";
        Source => "source", "来源";
        HeldOutNote => "predicted / measured − 1 of each point, predicted from the others alone", "每个负载点仅由其余点预测：预测值 / 实测值 − 1";
        LeftOutOtherTime => "{points}: req/s left out, it contradicts output tok/s (another time, or another length); output tok/s is used", "{points}：未采用每秒请求数，它与输出吞吐量矛盾（统计时段或长度不一致），以输出吞吐量为准";
        LeftOutIdle => "{points}: rates left out, with the latency they leave streams idle (a straggler, or a wrong figure); latencies are used", "{points}：未采用速率，按时延折算有并发处于空闲（有拖尾请求，或数据有误），以时延为准";
        InFlight => "{load} ({n} in flight)", "{load}（在途 {n}）";
        AssumedLength => "max-model-len {tokens} is assumed: the model's own does not fit on this card; set it with --flag max-model-len=N", "假定 max-model-len 为 {tokens}：模型自身的长度在此卡上放不下；可用 --flag max-model-len=N 指明";
        Metric => "metric", "指标";
        MedianError => "median error", "误差中位数";
        Bound => "9 of 10 below", "九成低于";
        Requests => "req/s", "每秒请求";
        Throughput => "output tok/s", "输出吞吐量 tok/s";
        Tokens => "tok/s", "tok/s";
        Ttft => "TTFT", "首 token 时延 TTFT";
        Tpot => "TPOT", "每 token 时延 TPOT";
        E2e => "E2E latency", "端到端时延";
        EngineTtft => "TTFT by the server", "服务端 TTFT";
        EngineTpot => "TPOT by the engine", "引擎 TPOT";
        HeldOut => "Error at points that were held out", "留出点误差";
        Envelope => "May be trusted within", "可信范围";
        Spanned => "The points span", "负载点范围";
        Distrusted => "not to be trusted: {metric} at {point} was predicted {error} off from the other points; measure it again or leave it out, and check model, card, lengths and flags", "不可信：由其余负载点预测 {point} 的{metric}，误差 {error}；请重测或去掉该点，并核对模型、设备、长度与参数";
        Written => "written to {file}", "已写入 {file}";
        TooFast => "{point}: a token took {token} ms, but {device} needs {weights} ms to read the weights once; check the card, the model and its precision", "{point}：每 token {token} ms，而 {device} 读一遍权重至少需 {weights} ms；请核对设备、模型与精度";
        WhatIf => "Predictions", "预测";
        Flags => "flags", "参数";
        Load => "load", "负载";
        LoadStreams => "{n} streams", "并发 {n}";
        LoadRate => "{n} req/s", "{n} 请求/s";
        Slo => "SLO", "SLO";
        Met => "met", "达标";
        Missed => "missed", "未达标";
        Uncertain => "uncertain", "不确定";
        UncertainNote => "uncertain: the prediction meets the objectives, but the upper end of an interval does not, or no interval is known", "不确定：预测值达标，但区间上限不达标，或没有区间";
        Trust => "envelope", "可信范围";
        Inside => "inside", "内";
        Outside => "outside", "外";
        Replicas => "replicas", "副本数";
        Cost => "cost / M tokens", "每百万 token 成本";
        Joule => "tok/J", "tok/J";
        KeptFlags => "flags that are not asked for are those of the first calibrated point: {flags}; others with --flag NAME=VALUE", "未指定的启动参数取首个校准点的值：{flags}；其他取值请用 --flag NAME=VALUE 指定";
        KeptUnset => "{name} not given", "未给出 {name}";
        Recommended => "recommended", "推荐";
        RecommendedUncertain => "not certain: no setting meets the objectives with its whole interval; measure it (--verify) before relying on it", "尚不确定：没有配置在整个区间内达标；采用前请先实测（--verify）";
        ForecastUncertain => "not certain: no setting meets the objectives with its whole interval; measure it before relying on it, and `plan calibrate` on what you measured narrows the interval", "尚不确定：没有配置在整个区间内达标；采用前请先实测，用实测结果 `plan calibrate` 可缩小区间";
        Latencies => "Latencies, ms", "时延，ms";
        NothingMeets => "no setting can be recommended", "没有可推荐的配置";
        Refused => "refused: {reason}", "拒绝启动：{reason}";
        NeverMet => "even an idle server misses the objectives", "服务空闲时也不达标";
        AllTooLong => "rejected: {tokens} tokens (prompt + answer) exceed max-model-len {most}", "拒绝请求：{tokens} token（输入 + 输出）超过 max-model-len {most}";
        SomeTooLong => "{n} of {all} requests exceed max-model-len (prompt + answer): the engine rejects them, and they count as failed", "{all} 个请求中有 {n} 个（输入 + 输出）超过 max-model-len：会被引擎拒绝，计为失败";
        WorkNote => "simulated: prompts of {input} and answers of {output} tokens, {requests} requests, {start}", "模拟负载：输入 {input}、输出 {output} token，{requests} 个请求，{start}";
        OfTrace => "{n} (mean of the trace)", "{n}（trace 均值）";
        StartSpread => "streams starting one after another over one latency", "各并发在一个时延内依次起步";
        StartAtOnce => "all streams starting at once", "全部并发同时起步";
        RandomArrivals => "arriving at random", "随机到达";
        Beyond => "{what} {value} was not measured ({measured})", "{what} {value} 未测过（{measured}）";
        Uncalibrated => "no interval for {metrics}: not among the fitted figures, they follow from the calibrated timing", "{metrics} 无区间：不在参与标定的数据之列，由标定后的时延模型推算";
        IntervalNote => "± is the error of tok/s that 9 of 10 predictions stay below, from points that were held out (×÷ 3: from a third to three times). Inside the envelope: {bounds}; outside, all grow in proportion", "± 为 tok/s 的误差上限：按留出点估计，九成预测不超过此值（×÷ 3：三分之一至三倍）。可信范围内：{bounds}；范围外同比放宽";
        Verified => "Verified", "验证";
        NotVerified => "NOT VERIFIED", "验证未通过";
        FarOff => "{metrics}: measured far outside the interval. Check that the server runs with these flags on this card, that it serves this load alone, and that lengths and prefix cache are those of the calibration; else calibrate again with this run among the points", "{metrics}：实测值远在区间之外。请核对服务的启动参数与设备、是否只承受此负载、长度与前缀缓存是否同标定时一致；若无误，请将此次运行加入负载点重新标定";
        LastHeld => "last verified {at} on {on} ({setting}): {errors}", "上次验证 {at}，{on}（{setting}）：{errors}";
        LastFailed => "the last verification of this calibration failed ({at}, {on}; {setting}): {errors}; predictions below may be as wrong", "此标定上次验证未通过（{at}，{on}；{setting}）：{errors}；以下预测可能同样不准";
        FileLine => "{file} line {n}", "{file} 第 {n} 行";
        RangeConcurrency => "concurrency", "并发数";
        RangeRate => "rate", "请求速率";
        RangeInput => "input-tokens", "输入长度";
        RangeOutput => "output-tokens", "输出长度";
        Predicted => "predicted", "预测值";
        Measured => "measured", "实测值";
        Simulated => "simulated", "模拟值";
        Error => "error", "误差";
        Interval => "interval", "区间";
        WithinBound => "inside", "区间内";
        BeyondBound => "outside", "区间外";
        VerifiedKept => "the error is kept in {file}", "误差已记入 {file}";
        VerifiedRun => "the run is {run}", "运行记录：{run}";
        VerifiedSimulated => "simulated with noise and other requests: nothing was measured on a server", "仅为带噪声、另取请求的模拟：并未在真实服务上实测";
        OverLoad => "Predictions over the load", "预测随负载变化";
        Bands => "Bands: where the value lies in 9 of 10 cases by the held-out errors, wider outside what was measured.", "色带：按留出点误差，九成情况下实际值落在其中；超出已测范围时更宽。";
        LatencyBands => "Bands: where the latency lies in 9 of 10 cases by the held-out errors; req/s may be off too ({bound} inside the envelope), which is not drawn.", "色带：按留出点误差，九成情况下时延落在其中；横轴的每秒请求数同样有误差（可信范围内 {bound}），图中未画。";
        HollowPoints => "Hollow points: outside what was measured.", "空心点：超出已测范围。";
        Usual => "default", "默认";
        Choice => "Cheapest deployments", "最省的部署方案";
        ChoiceNote => "for {rate} req/s; load is a replica's share of it, in random arrivals, at which the objectives are judged as `run` judges them (± as in 9 of 10 cases); replicas are those that the estimate needs / that its whole interval needs (none: no number is enough), and counted by the {by} (--size-by); headroom is what all replicas carry beyond the traffic, found in the draws by which they are counted. In brackets: from the slow to the fast end of the interval (below 0 %: less than the traffic; none: no load is carried at the slow end), costs and joules with as many replicas as either end needs. Joules per token are at most these: of all cards, each at its board's greatest power (TDP) all the time; what they really draw is measured by `run`", "流量 {rate} req/s；负载为每个副本分到的随机到达请求，目标按 `run` 的口径在此负载下判定（± 为九成情况下的误差）；副本数依次为估计值所需 / 整个区间所需（无：多少副本都不够），现按 {by} 计（--size-by）；余量为所有副本承载能力超出流量的部分，与副本数用同几次抽样求得。括号内为区间慢端到快端（低于 0 %：承载不了全部流量；无：慢端下任何负载都不达标），成本与焦耳按各端所需副本数计。每 token 焦耳为上限：按所有卡始终以整板最大功率（TDP）运行计，实际功耗由 `run` 实测";
        ChoiceCounts => "deployments considered: {considered}; they do not start: {refused}, miss the objectives: {missed}, need more cards than there are: {short}; simulated with {few} requests: {screened}, of those at full length, in {draws} draws of all requests: {confirmed}", "共考虑 {considered} 种部署：{refused} 种无法启动，{missed} 种不达标，{short} 种卡数不够；{screened} 种先以 {few} 个请求模拟，其中 {confirmed} 种以足够的请求、抽取 {draws} 次再次模拟";
        NothingChosen => "no deployment carries the traffic within the objectives: of {considered}, they do not start: {refused}, miss the objectives: {missed}, need more cards than there are: {short} (simulated with {few} requests: {screened}, at full length, in {draws} draws: {confirmed}); relax an objective or offer more or other cards", "没有部署能在目标内承载该流量：{considered} 种中，{refused} 种无法启动，{missed} 种不达标，{short} 种卡数不够（{screened} 种以 {few} 个请求模拟，{confirmed} 种以足够的请求、抽取 {draws} 次模拟）；请放宽目标，或提供更多或其他卡";
        OnlyByEstimate => "{n} would carry the traffic by the estimate, but not with the whole interval; --size-by estimate lists them", "{n} 种按估计值可承载该流量，但整个区间不行；--size-by estimate 会列出它们";
        LeftOutDearer => "the other {n} were not simulated further: even by an optimistic formula they are not cheaper than those listed; of those that differ in max-num-batched-tokens alone, the best is listed", "其余 {n} 种未再模拟：即使按乐观公式也不比所列方案便宜；仅 max-num-batched-tokens 不同的方案只列最好的";
        LeftOutLimit => "incomplete: {n} more may be as cheap, and were not simulated further; at most {screened} are simulated and {confirmed} at full length, those first that are cheapest by a formula. --complete goes on until none is left, however long it takes; fewer kinds of cards or fixed flags (--flag) leave fewer", "不完整：另有 {n} 种可能同样便宜，但未再模拟；至多模拟 {screened} 种、以足够请求模拟 {confirmed} 种，按公式最便宜者优先。--complete 会一直模拟到没有遗漏（用时不限）；减少卡的种类或用 --flag 固定参数则候选更少";
        FirstUncertain => "The first is not certain: replicas by its estimate {estimate}, with its whole interval {interval}; verify it before relying on it, or count by the interval (--size-by interval)", "首选方案尚不确定：按估计值需 {estimate} 个副本，按整个区间需 {interval} 个；采用前请先验证，或按区间计数（--size-by interval）";
        FirstNeverSure => "The first is not certain: replicas by its estimate {estimate}, but no number meets the objectives with its whole interval; verify it before relying on it", "首选方案尚不确定：按估计值需 {estimate} 个副本，而按整个区间多少副本都不达标；采用前请先验证";
        WhyWorse => "Why the next ones are worse", "其余方案为何更差";
        OneCard => "1 card", "1 张卡";
        CardCount => "{n} cards", "{n} 张卡";
        CostsMore => "{place}. costs {more} more: {cards} at {price} an hour (the first: {best_cards} at {best_price}); a card carries {rate} req/s (the first: {best_rate})", "{place}. 贵 {more}：{cards}，每张每小时 {price}（首选：{best_cards} 张，每张 {best_price}）；每卡承载 {rate} req/s（首选：{best_rate}）";
        CostsMoreByRounding => "{place}. costs {more} more: {cards} at {price} an hour (the first: {best_cards} at {best_price}); a card carries {rate} req/s, no less than with the first ({best_rate}), but replicas of {each} cards fit the traffic less well", "{place}. 贵 {more}：{cards}，每张每小时 {price}（首选：{best_cards} 张，每张 {best_price}）；每卡承载 {rate} req/s，不低于首选（{best_rate}），但每副本 {each} 张卡与该流量不太匹配";
        SameCost => "{place}. costs the same and comes nearer to a limit: {objective} at {share} of it (the first: {best_objective} at {best})", "{place}. 价格相同，离上限更近：{objective} 达其 {share}（首选：{best_objective} 达其 {best}）";
        SameCostAsNear => "{place}. costs the same and comes as near to a limit: {objective} at {share} of it", "{place}. 价格相同，离上限同样近：{objective} 达其 {share}";
        NoNumber => "none", "无";
        NoUpperEnd => "no upper end", "无上限";
        FallsBehind => "{loads}: at the slow end of its interval the server falls behind what arrives, and latencies have no upper end there", "{loads}：在区间的慢端，服务跟不上到达的请求，时延没有上限";
        LaunchCommands => "To start a replica", "启动一个副本";
        Router => "router", "路由";
        FurtherReplicas => "Further replicas on the same host need cards and a port of their own (CUDA_VISIBLE_DEVICES, --port).", "同一主机上的其他副本需各自指定卡与端口（CUDA_VISIBLE_DEVICES、--port）。";
        SplitStart => "Each line is a process; the router is started last, and clients speak to it. HOST1, HOST2, … stand for addresses. Which network adapter hands over keys and values is the engine's choice unless told (SGLang: --disaggregation-ib-device, vLLM: UCX_NET_DEVICES); vLLM's proxy lies in its repository.", "每行一个进程；最后启动路由，客户端访问路由。HOST1、HOST2 等请换成实际地址。KV 传输用哪块网卡默认由引擎决定（SGLang：--disaggregation-ib-device，vLLM：UCX_NET_DEVICES）；vLLM 的代理脚本在其代码仓库中。";
        MindieSplitStart => "MindIE's workers of two kinds are started on one host by the scripts of MindIE Motor: the line is given in its folder examples/kubernetes_deploy_scripts, where jq and sed write its files. Its coordinator answers on port 31015, with TLS unless its files turn that off.", "MindIE 的 P/D 实例由 MindIE Motor 的脚本在单机上拉起：请在其 examples/kubernetes_deploy_scripts 目录下执行该行命令，由 jq 与 sed 改写配置文件。Coordinator 在 31015 端口提供服务，默认启用 TLS，除非在其配置文件中关闭。";
        MostJoules => "J / token, at most", "每 token 焦耳（上限）";
        VerifyFirst => "To verify the first", "验证首选方案";
        CostPerHour => "cost / h", "每小时成本";
        Headroom => "headroom", "余量";
        BasisColumn => "validated", "验证";
        ShortValidated => "yes", "是";
        ShortSimilar => "similar", "同类";
        ShortNone => "no", "否";
        PerUser => "output tok/s per user", "每用户输出 tok/s";
        PerCard => "output tok/s per card", "每卡输出 tok/s";
        Pareto => "Speed of a card against speed for a user", "每卡吞吐与每用户速度";
        Basis => "What the intervals rest on", "区间的依据";
        BasisValidated => "{device}: this model was validated with this engine on this card, in this precision: {rows} published rows that no coefficient was chosen by", "{device}：该模型以此精度在此卡、此引擎上经过验证：{rows} 行未参与拟合的公开实测";
        BasisSimilar => "{device}: this model was not validated on this card in this precision; {rows} rows of its kind on cards of this generation were, with coefficients that did not know the model", "{device}：该模型未以此精度在此卡上验证；依据同代设备上同类模型的 {rows} 行实测（拟合时未用该模型）";
        BasisNone => "{device}: nothing of this kind was ever validated; intervals are twice the widest known. Measure, and `plan calibrate`, before relying on it", "{device}：从未验证过同类情形；区间取已知最宽者的两倍。采用前请先实测并 `plan calibrate`";
        Validation => "Predictions against measurements", "预测与实测的对比";
        ValidationCounts => "{compared} of {sampled} rows predicted; the table has {rows}", "{sampled} 行中预测了 {compared} 行；表中共 {rows} 行";
        NotPredicted => "Not predicted", "未预测";
        PrefillWorker => "prefill", "预填充";
        DecodeWorker => "decode", "解码";
        Reason => "reason", "原因";
        Rows => "rows", "行数";
        FirstRow => "first row", "首行";
        RowWorkers => "the row does not say how many workers computed prompts and how many answered", "该行没有说明预填充与解码各有多少个工作进程";
        RowEngine => "the scheduler of {name} is not simulated", "尚不能模拟 {name} 的调度";
        RowModel => "the model {name} is not known", "未知模型 {name}";
        RowCard => "the card {name} is not known", "未知设备 {name}";
        RowConcurrency => "the row has no concurrency", "该行没有并发数";
        RowNoEngine => "nothing says which engine it was; say --engine", "未说明推理引擎；请用 --engine 指定";
        RowNoModel => "nothing says which model it was; say --model", "未说明模型；请用 --model 指定";
        RowNoCard => "nothing says which card it was; say --device", "未说明设备；请用 --device 指定";
        RowNoLengths => "nothing says how long prompts and answers were; say --input-tokens and --output-tokens", "未说明输入与输出长度；请用 --input-tokens 与 --output-tokens 指定";
        RowNoLatency => "it has no TTFT, TPOT or latency", "没有 TTFT、TPOT 或时延";
        RowInvalid => "the measurement is not valid: {codes}", "测量无效：{codes}";
        PredictedMeasured => "Predicted against measured", "预测与实测";
        PredictedValue => "predicted", "预测值";
        DiagonalNote => "A point for each row; on the grey line predictions are right.", "每行一个点；灰线上预测与实测相等。";
        ErrorsByKind => "Median error by engine, model and card", "按推理引擎、模型与设备的误差中位数";
        MedianNote => "Of |predicted ÷ measured − 1|; the tables say how many rows are behind each.", "|预测 ÷ 实测 − 1| 的中位数；各组行数见表。";
        RowNothingServed => "no request was served", "没有请求得到服务";
        ByHeldOut => "By engine, of the rows that were not looked at", "按引擎（仅保留数据）";
        ByHalf => "By half: coefficients were chosen by the training half alone", "按数据划分：系数仅由训练部分选定";
        ByEngine => "By engine", "按推理引擎";
        ByCard => "By card", "按设备";
        ByModel => "By model", "按模型";
        ByKind => "By engine, model and card", "按推理引擎、模型与设备";
        ErrorNote => "median |error| / mean |error| / median of predicted ÷ measured − 1, in %", "绝对误差中位数 / 绝对误差均值 /（预测 ÷ 实测 − 1）的中位数，%";
    }
}

#[cfg(test)]
mod tests {
    use super::PlanText;
    use inferometer_text::Lang;

    #[test]
    fn both_languages_carry_the_same_values() {
        let names = |text: &str| {
            let mut names: Vec<String> = text
                .split('{')
                .skip(1)
                .filter_map(|rest| Some(rest.split_once('}')?.0.to_owned()))
                .collect();
            names.sort();
            names
        };
        for &text in PlanText::ALL {
            assert_eq!(
                names(text.text(Lang::En)),
                names(text.text(Lang::Zh)),
                "{text:?}"
            );
        }
    }
}
