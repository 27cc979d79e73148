//! What `inferometer data` says.

use inferometer_text::texts;

texts! {
    pub enum DataText {
        Data => "Data", "数据";
        ReadAs => "Read as", "识别为";
        FormatFound => "{format} (found from the content)", "{format}（由内容识别）";
        FormatGiven => "{format} (as given)", "{format}（按指定）";
        PackedWith => "packed with {packing}", "压缩格式 {packing}";
        Rows => "Rows", "行数";
        RowsUsable => "{usable} usable of {seen} read", "读取 {seen} 行，可用 {usable} 行";
        RowsUnusable =>
            "{count} without a usable prompt or answer",
            "{count} 行没有可用的提示词或回答";
        RowsBad => "{count} bad", "{count} 行损坏";
        RowsTooShort => "{count} shorter than --min-prompt", "{count} 行短于 --min-prompt";
        RowsTooLong => "{count} longer than --max-prompt", "{count} 行长于 --max-prompt";
        RowsByFilter => "{count} against --filter", "{count} 行被 --filter 排除";
        RowsLimited => "the rest not read (--limit)", "其余未读（--limit）";
        TokensBy => "counted with {tokenizer}", "由 {tokenizer} 计数";
        TokensByDefault =>
            "counted with {tokenizer}, as none was chosen; give the model's own with --tokenizer",
            "未指定分词器，由 {tokenizer} 计数；请用 --tokenizer 指定模型自己的分词器";
        Arrivals => "Arrivals", "到达";
        ArrivalsOf =>
            "over {time}, {rate} per second on average",
            "历时 {time}，平均每秒 {rate} 个";
        ArrivalsAtOnce => "all at the same time", "全部同时到达";
        GapsVary =>
            "burstiness {variation} (deviation of the gaps / their mean; 1 is Poisson)",
            "burstiness {variation}（间隔的标准差 / 均值；1 为泊松）";
        PromptChars => "Prompts in characters", "提示词长度（字符）";
        PromptTokens => "Prompts in tokens", "提示词长度（token）";
        AnswerTokens => "Answers in tokens", "回答长度（token）";
        TurnsOf => "Turns of conversations", "会话轮数";
        LengthsOf =>
            "mean {mean}, p50 {p50}, p90 {p90}, p99 {p99}, from {min} to {max}",
            "平均 {mean}，p50 {p50}，p90 {p90}，p99 {p99}，范围 {min} 至 {max}";
        LengthAll => "all {count} have {length}", "全部 {count} 个均为 {length}";
        FirstPrompts => "First prompts", "前几条提示词";
        BadRows => "Bad rows", "损坏的行";
        BadLine => "line {line}", "第 {line} 行";
        MoreBadRows => "and {count} more", "另有 {count} 行";
        BadRowsRemedy =>
            "A run stops at the first of them; with --skip-bad it continues without them.",
            "运行遇到第一个损坏的行即停止；加 --skip-bad 则跳过它们继续。";
        Written => "Written", "已写出";
        WrittenTo => "{count} rows to {file}", "{count} 行写入 {file}";
        WrittenNot =>
            "{count} left out, as they are more than one prompt (several messages, or a body \
             without one)",
            "{count} 行未写出，因为不止一条提示词（含多条消息，或没有提示词的请求体）";
    }
}
