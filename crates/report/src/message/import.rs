//! Texts of imports.

inferometer_text::texts! {
    /// What `import` says.
    pub enum ImportText {
        /// Heading of one result: `{number}` of a tool at lines.
        Result => "{number}. {label}", "{number}、{label}";
        /// A result without a name.
        NoLabel => "(no heading)", "（无标题）";
        /// Key: where it was read.
        Source => "from", "来源";
        /// `{tool}`, `{file}`, lines `{first}`–`{last}`.
        At => "{file}, lines {first}–{last}, numbers as {tool} defines them", "{file} 第 {first}–{last} 行，数值按 {tool} 的定义";
        /// The same for a database, which has no lines.
        AtDatabase => "{file}, numbers as {tool} defines them", "{file}，数值按 {tool} 的定义";
        /// Key: the load.
        Load => "load", "负载";
        /// Key: what else is known of the server.
        Tags => "tags", "标签";
        /// Key: counts of requests.
        Requests => "requests", "请求";
        /// `{ok}` of `{planned}`.
        OkOf => "{ok} of {planned} ok", "{planned} 个中成功 {ok} 个";
        /// `{ok}` alone.
        Ok => "{ok} ok", "成功 {ok} 个";
        /// `{failed}`.
        Failed => "{failed} failed", "失败 {failed} 个";
        /// `{share}` of the requests.
        FailedShare => "{share} failed", "失败 {share}";
        /// `{cut}`, which were under way at the end.
        Cut => "{cut} under way at the end", "结束时仍在进行 {cut} 个";
        /// Key: work done a second.
        Throughput => "throughput", "吞吐量";
        /// `{rate}` output tokens a second.
        OutputRate => "{rate} output tok/s", "输出 {rate} tok/s";
        /// `{rate}` tokens of both kinds a second.
        TotalRate => "{rate} total tok/s", "合计 {rate} tok/s";
        /// Key: mean lengths.
        Lengths => "tokens", "token 数";
        /// Mean `{input}` in, `{output}` out.
        MeanLengths => "mean input {input}, mean output {output}", "平均输入 {input}，平均输出 {output}";
        /// Key: flags that were given.
        Flags => "flags", "启动参数";
        /// Key: flags that nobody gave.
        Defaults => "defaults", "默认参数";
        /// The defaults of `{version}`, known by `{by}`.
        DefaultsOf => "{flags} ({version}, by {by})", "{flags}（{version}，依据：{by}）";
        /// Key: what had to be assumed.
        Assumed => "assumed", "假定";
        /// Key: names of numbers that could not be read.
        NotRead => "not read", "未读取";
        /// Key: why the server did not start.
        Refused => "refused", "启动失败";
        /// Key: device memory.
        Memory => "memory", "显存";
        /// Heading: lines that could not be read.
        Unread => "Not read", "未能读取";
        /// Lines of a file.
        UnreadLines => "{file}: lines {lines}", "{file}：第 {lines} 行";
        /// Where it is kept.
        Kept => "kept in", "保存于";
        /// Before the counts: nothing speaks against any result.
        NoDoubts => "NO DOUBTS", "无疑点";
        /// Nothing but notes.
        NotesOnly => "NOTES ONLY", "仅有提示";
        /// Something does.
        Doubtful => "DOUBTFUL", "有疑点";
        /// How many results there are.
        CountResults => "results: {count}", "结果 {count} 个";
        /// How many of them are invalid.
        CountInvalid => "invalid: {count}", "无效 {count} 个";
        /// How many have a warning.
        CountDoubtful => "doubtful: {count}", "有疑点 {count} 个";
        /// How many have nothing worse than a note.
        CountNoted => "with notes: {count}", "有提示 {count} 个";
        /// How many are refused starts.
        CountRefused => "refused starts: {count}", "启动失败 {count} 个";
        /// Heading: what speaks against the results.
        DoubtsHeading => "Doubts", "疑点";
        /// `{text}` of one `{result}`.
        OfResult => "{result}: {text}", "{result}：{text}";
        /// Requests that one result lost.
        LostAt => "#{number} {load}: {lost} of {planned}", "#{number} {load}：{planned} 个中丢失 {lost} 个";
        /// Tile: the least latency.
        LeastLatency => "Lowest mean latency", "最低平均时延";
        /// Tile: results that are invalid.
        InvalidResults => "Invalid results", "无效结果";
        /// Tile: results with a warning.
        DoubtfulResults => "Doubtful results", "有疑点的结果";
        /// Title of a column.
        Tool => "tool", "工具";
        /// Title of a column.
        Lines => "lines", "行";
        /// Title of a column.
        Doubts => "doubts", "疑点";
    }
}
