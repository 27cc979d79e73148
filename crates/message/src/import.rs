//! Texts of imports.

inferometer_text::texts! {
    pub enum ImportText {
        Result => "{number}. {label}", "{number}、{label}";
        NoLabel => "(no heading)", "（无标题）";
        Source => "from", "来源";
        At => "{file}, {lines}, numbers as defined by {tool}", "{file} {lines}，数值按 {tool} 的定义";
        Line => "line {lines}", "第 {lines} 行";
        Lines => "lines {lines}", "第 {lines} 行";
        AtFiles => "{count} files, numbers as defined by {tool}", "{count} 个文件，数值按 {tool} 的定义";
        AtDatabase => "{file}, numbers as defined by {tool}", "{file}，数值按 {tool} 的定义";
        Load => "load", "负载";
        Tags => "tags", "标签";
        Requests => "requests", "请求";
        OkOf => "{ok} of {planned} ok", "{planned} 个中成功 {ok} 个";
        Ok => "{ok} ok", "成功 {ok} 个";
        Failed => "{failed} failed", "失败 {failed} 个";
        FailedShare => "{share} failed", "失败 {share}";
        Cut => "{cut} still streaming at the end", "结束时仍在进行 {cut} 个";
        Throughput => "throughput", "吞吐量";
        OutputRate => "{rate} output tok/s", "输出 {rate} tok/s";
        TotalRate => "{rate} total tok/s", "合计 {rate} tok/s";
        Lengths => "tokens", "token 数";
        MeanLengths => "mean input {input}, mean output {output}", "平均输入 {input}，平均输出 {output}";
        Flags => "flags", "启动参数";
        Defaults => "defaults", "默认参数";
        DefaultsOf => "{flags} ({version}, by {by})", "{flags}（{version}，依据：{by}）";
        Assumed => "assumed", "假定";
        NotRead => "not read", "未读取";
        Refused => "refused", "启动失败";
        Memory => "memory", "显存";
        Unread => "Not read", "未能读取";
        UnreadLines => "{file}: {lines}", "{file}：{lines}";
        Kept => "kept in", "保存于";
        NoDoubts => "NO DOUBTS", "无疑点";
        NotesOnly => "ONLY NOTES", "仅有提示";
        Doubtful => "DOUBTFUL", "有疑点";
        CountResults => "results: {count}", "结果 {count} 个";
        CountRepeated => "repeated in tables: {count}", "表格中重复 {count} 个";
        CountInvalid => "invalid: {count}", "无效 {count} 个";
        CountDoubtful => "doubtful: {count}", "有疑点 {count} 个";
        CountNoted => "with notes: {count}", "有提示 {count} 个";
        CountRefused => "refused starts: {count}", "启动失败 {count} 个";
        DoubtsHeading => "Doubts", "疑点";
        AllResults => "all {count} results", "全部 {count} 个结果";
        AllOfGroup => "{group} (all {count})", "{group}（全部 {count} 个）";
        OfResult => "{result}: {text}", "{result}：{text}";
        LostAt => "#{number} {load}: {lost} of {planned}", "#{number} {load}：{planned} 个中丢失 {lost} 个";
        LeastLatency => "Lowest mean latency", "最低平均时延";
        InvalidResults => "Invalid results", "无效结果";
        DoubtfulResults => "Doubtful results", "有疑点的结果";
        Tool => "tool", "工具";
        Setting => "setting", "配置";
        FailedColumn => "failed", "失败";
        InputColumn => "input", "输入";
        OutputColumn => "output", "输出";
        TotalColumn => "total tok/s", "合计 tok/s";
        UserColumn => "tok/s per user", "每用户 tok/s";
        CharsColumn => "chars/s", "字符/s";
        Doubts => "doubts", "疑点";
    }
}
