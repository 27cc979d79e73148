//! What findings say: sentences that rules write from the data.

inferometer_text::texts! {
    pub enum FindingText {
        Heading => "Findings", "发现";
        BestName => "Best", "最佳";
        BestSetting => "{setting}: {value}", "{setting}：{value}";
        BestSettingAt => "{setting}: {value} at {load}", "{setting}：{load} 时 {value}";
        WorstName => "Worst", "最差";
        WorstSetting => "{setting}: {value} ({factor} times worse)", "{setting}：{value}（差 {factor} 倍）";
        NoBestSetting => "no setting is ahead: {metric} differs by at most {margin}", "没有领先的配置：{metric}相差不超过 {margin}";
        NotCountedName => "Not counted (failures, other work or invalid)", "不计入（有失败、内容不同或无效）";
        Large => "{metric} is {factor} times worse with {worst} than with {best}", "{metric}：{worst} 比 {best} 差 {factor} 倍";
        LargeEvidence => "{worst} against {best}", "{worst} 对 {best}";
        LargeEvidenceAt => "{worst} against {best} at {point}", "{point}：{worst} 对 {best}";
        Or => "{a} or {b}", "{a} 或 {b}";
        Cold => "models or adapters whose first request waited for a load: {count}", "首个请求等待加载的模型或适配器：{count} 个";
        ColdEvidence => "{model}: first TTFT {first}, later {later}", "{model}：首次 TTFT {first}，之后 {later}";
        CancelKept => "the server goes on with requests that the client gave up: their slots are lost to others", "客户端放弃的请求仍在服务端继续运行：其槽位被占用";
        CancelFreed => "the server frees requests that the client gave up", "客户端放弃的请求在服务端已释放";
        CancelEvidence => "{count} given up; on average it runs {running} requests, {waited} are waited for", "放弃 {count} 个；服务端平均运行 {running} 个请求，客户端等待 {waited} 个";
        ScoreFalls => "the score falls from {before} at {axis} {low} to {after} at {high}: load must not change answers; look for a fault of the engine (cache, kernel, batching), or for answers that are cut off", "得分从 {axis} {low} 时的 {before} 降到 {high} 时的 {after}：负载不应改变回答；请检查引擎（缓存、算子、批处理）或回答是否被截断";
        ScoreEvidence => "95 % intervals {before} and {after}", "95 % 区间 {before} 与 {after}";
        Of => "{text}, for {ladder}", "{text}；条件 {ladder}";
        Knee => "95 % of the highest output throughput is reached at {axis} {load} (between {low} and {high}); more load adds latency and at most 5 % throughput", "{axis} 约 {load}（{low} 与 {high} 之间）即达到最高输出吞吐量的 95 %；再加负载只会增加时延，吞吐量至多再高 5 %";
        KneeEvidence => "{before} tok/s at {low}, {after} tok/s at {high}, highest {peak} tok/s at {peak_load}; {basis}", "{low} 时 {before} tok/s，{high} 时 {after} tok/s，最高 {peak} tok/s（{peak_load}）；{basis}";
        OverRepeats => "95 % interval over {count} repeats, widened to measured loads", "区间由 {count} 次重复得出（95 %），并扩展到实测负载";
        ByFits => "interval: all curves that fit about as well, widened to measured loads; no repeats", "区间由拟合程度相近的全部曲线得出，并扩展到实测负载；无重复测量";
        StillRising => "none up to {axis} {load}, where output throughput still rises", "至 {axis} {load} 仍未饱和，输出吞吐量还在上升";
        RisingEvidence => "{before} tok/s at {low}, {after} tok/s at {high}: {change}", "{low} 时 {before} tok/s，{high} 时 {after} tok/s：{change}";
        FailuresFrom => "failures start at {axis} {load}", "失败从 {axis} {load} 开始出现";
        FailuresSeen => "failures are seen from {axis} {load} on; too few requests ended at lower loads to say that none fail there", "自 {axis} {load} 起出现失败；更低负载下完成的请求太少，无法断定那里没有失败";
        FailuresEverywhere => "requests fail at every load, from {axis} {load} on", "所有负载下均有请求失败（自 {axis} {load} 起）";
        FailuresScattered => "requests fail at some loads, but not at every higher one: {axis} {loads}", "部分负载下有请求失败，但更高负载并非都失败：{axis} {loads}";
        FailureCountAlone => "{failed} of {ended} failed at {load}", "{load} 时 {ended} 个请求失败 {failed} 个";
        FailureCount => "{failed} of {ended} failed at {load}: {classes}", "{load} 时 {ended} 个请求失败 {failed} 个：{classes}";
        NoneBelow => "none of {ended} at lower loads", "更低负载的 {ended} 个请求无失败";
        Least => "{cell} has the lowest output throughput of {count} cells, each at its best load, {factor} times below the highest ({best})", "{count} 个格点各取最佳负载，其中 {cell} 输出吞吐量最低，为最高格点（{best}）的 1/{factor}";
        LeastSeveral => "{cell} have the lowest output throughput of {count} cells and are indistinguishable; the lowest is {factor} times below the highest ({best})", "{count} 个格点中 {cell} 输出吞吐量最低且无法区分，最低者为最高格点（{best}）的 1/{factor}";
        LeastEvidence => "{low} tok/s against {high} tok/s", "{low} tok/s 对 {high} tok/s";
        Wins => "{metric} is best with {setting}", "{metric}：{setting} 最优";
        NextEvidence => "{best} against {other} ({ratio}) with the next, {setting}", "{best}，次优 {setting} 为 {other}（{ratio}）";
        WinsEverywhere => "{metric} is better with {setting} at all {count} compared points", "{metric}：在全部 {count} 个可比测点上，{setting} 更优";
        WinsAt => "{metric} is better with {setting} at {won} of {count} compared points, and no difference is seen at the others", "{metric}：{count} 个可比测点中 {setting} 在 {won} 个上更优，其余未见差异";
        WinsMixed => "{metric} is better with different settings at different points: {settings}", "{metric}：不同测点的更优配置不同：{settings}";
        WonPoints => "{setting} at {won} of {count}", "{setting}（{won}/{count}）";
        WinEvidence => "{best} against {other} ({ratio}) at {point}", "{point}：{best} 对 {other}（{ratio}）";
        Same => "{metric}: none between {settings} (compared points: {count})", "{metric}：{settings} 之间未见差异（{count} 个可比测点）";
        SameEvidence => "their 95 % intervals overlap, or they lie within {margin}; means differ by {share} at most", "95 % 区间相互重叠或相差不超过 {margin}；均值相差至多 {share}";
        More => "and {count} more", "另有 {count} 项";
        MeanTtft => "mean TTFT", "TTFT 均值";
        MeanItl => "mean ITL", "ITL 均值";
        Throughput => "output throughput", "输出吞吐量";
        Stalls => "at least {share} of the answers paused for {gap} or longer, which the p99 of ITL ({itl}) does not show", "至少 {share} 的回答出现过 {gap} 或更长的停顿，而 ITL 的 p99（{itl}）看不出来";
        StallOnce => "an answer paused for {gap}, which the p99 of ITL ({itl}) does not show", "有回答停顿 {gap}，而 ITL 的 p99（{itl}）看不出来";
        StallsEvidence => "{factor} times; {answers} answers, {gaps} gaps", "{factor} 倍；{answers} 个回答，{gaps} 个间隔";
        AtPoints => "at {count} of {all} measurements; the worst, {point}: {text}", "{all} 次测量中有 {count} 次；最严重者 {point}：{text}";
        Lost => "{lost} of {planned} requests are unaccounted for", "{planned} 个请求中有 {lost} 个下落不明";
        LostEvidence => "{ok} ok, {failed} failed, {cut} cut, {unsent} not sent", "成功 {ok}，失败 {failed}，截断 {cut}，未发送 {unsent}";
        Away => "the server was away for {length} from {start} on", "自 {start} 起服务端离线 {length}";
        AwayToTheEnd => "the server was away for {length} from {start} on, and did not come back", "自 {start} 起服务端离线 {length}，此后未恢复";
        AwayEvidence => "requests that found nobody: {requests}; outages: {outages}, {total} in all", "无人应答的请求：{requests}；离线次数：{outages}，共 {total}";
        ClientLate => "the client sent late, so latencies counted from planned times include its own delay", "客户端发送滞后，从计划时刻起算的时延包含客户端自身的延迟";
        ClientWoken => "the client was woken late, so latencies include its own delay", "客户端唤醒滞后，时延包含客户端自身的延迟";
        Client => "the client was near its own limit, so the server may be faster than these numbers", "客户端已接近自身上限，服务端的真实性能可能高于这些数字";
    }
}
