//! What `inferometer data` says.

use inferometer_text::texts;

texts! {
    /// A data set at a glance.
    pub enum DataText {
        /// key of the file.
        Data => "Data", "数据";
        /// key of what was recognised.
        ReadAs => "Read as", "识别为";
        /// `{format}`, found.
        FormatFound => "{format} (found from the content)", "{format}（由内容识别）";
        /// `{format}`, given.
        FormatGiven => "{format} (as given)", "{format}（按指定）";
        /// packed with `{packing}`.
        PackedWith => "packed with {packing}", "压缩格式 {packing}";
        /// key of the rows.
        Rows => "Rows", "行数";
        /// `{usable}` of `{seen}`.
        RowsUsable => "{usable} usable of {seen} read", "读取 {seen} 行，可用 {usable} 行";
        /// `{count}` that hold nothing to send.
        RowsUnusable =>
            "{count} without a usable prompt or answer",
            "{count} 行没有可用的提示词或回答";
        /// `{count}` that cannot be read.
        RowsBad => "{count} bad", "{count} 行损坏";
        /// `{count}` below the shortest.
        RowsTooShort => "{count} shorter than --min-prompt", "{count} 行短于 --min-prompt";
        /// `{count}` above the longest.
        RowsTooLong => "{count} longer than --max-prompt", "{count} 行长于 --max-prompt";
        /// `{count}` against the filter.
        RowsByFilter => "{count} against --filter", "{count} 行被 --filter 排除";
        /// no more was to be read.
        RowsLimited => "the rest not read (--limit)", "其余未读（--limit）";
        /// tokens as `{tokenizer}` counts.
        TokensBy => "counted with {tokenizer}", "由 {tokenizer} 计数";
        /// tokens as `{tokenizer}` counts, which nobody chose.
        TokensByDefault =>
            "counted with {tokenizer}, as none was chosen; give the model's own with --tokenizer",
            "未指定分词器，由 {tokenizer} 计数；请用 --tokenizer 指定模型自己的分词器";
        /// key of a trace's times.
        Arrivals => "Arrivals", "到达";
        /// over `{time}`, `{rate}` a second.
        ArrivalsOf =>
            "over {time}, {rate} a second on average",
            "历时 {time}，平均每秒 {rate} 个";
        /// all at the same time.
        ArrivalsAtOnce => "all at the same time", "全部同时到达";
        /// gaps vary by `{variation}`.
        GapsVary =>
            "burstiness {variation} (deviation of the gaps / their mean; 1 is Poisson)",
            "burstiness {variation}（间隔的标准差 / 均值；1 为泊松）";
        /// heading of a histogram.
        PromptChars => "Prompts in characters", "提示词长度（字符）";
        /// heading of a histogram.
        PromptTokens => "Prompts in tokens", "提示词长度（token）";
        /// heading of a histogram.
        AnswerTokens => "Answers in tokens", "回答长度（token）";
        /// heading of a histogram.
        TurnsOf => "Turns of conversations", "会话轮数";
        /// lengths in numbers.
        LengthsOf =>
            "mean {mean}, p50 {p50}, p90 {p90}, p99 {p99}, from {min} to {max}",
            "平均 {mean}，p50 {p50}，p90 {p90}，p99 {p99}，范围 {min} 至 {max}";
        /// all of one length.
        LengthAll => "all {count} have {length}", "全部 {count} 个均为 {length}";
        /// heading of the first prompts.
        FirstPrompts => "First prompts", "前几条提示词";
        /// heading of the rows that cannot be read.
        BadRows => "Bad rows", "损坏的行";
        /// the `{line}` of one.
        BadLine => "line {line}", "第 {line} 行";
        /// `{count}` that are not listed.
        MoreBadRows => "and {count} more", "另有 {count} 行";
        /// what a run does with them.
        BadRowsRemedy =>
            "A run stops at the first of them; with --skip-bad it goes on without them.",
            "运行遇到第一个损坏的行即停止；加 --skip-bad 则跳过它们继续。";
        /// key of what was converted.
        Written => "Written", "已写出";
        /// `{count}` to `{file}`.
        WrittenTo => "{count} rows to {file}", "{count} 行写入 {file}";
        /// `{count}` that the other format cannot hold.
        WrittenNot =>
            "{count} left out, as they are more than one prompt (several messages, or a body \
             without one)",
            "{count} 行未写出，因为不止一条提示词（含多条消息，或没有提示词的请求体）";
    }
}
