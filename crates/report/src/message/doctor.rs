//! What `inferometer doctor` says.

use inferometer_text::texts;

texts! {
    /// The client's host and what a server understands.
    pub enum DoctorText {
        /// key of the host.
        Host => "Host", "主机";
        /// `{cpu}`, `{cores}` cores.
        HostIs => "{cpu}, {cores} cores", "{cpu}，{cores} 核";
        /// key of the ceiling.
        Ceiling => "Ceiling", "上限";
        /// `{one}` token events a second, `{batched}` in batches.
        CeilingIs =>
            "{one} token events/s a worker where each comes in its own write, {batched} in \
             writes of sixteen",
            "单 worker 每秒 {one} 个 token 事件（逐个写出），{batched} 个（每次写出十六个）";
        /// heading of the errors.
        StampErrors => "Time-stamp error", "时间戳误差";
        /// column of streams.
        Streams => "streams", "流数";
        /// column of the load.
        TokenEvents => "tok/s", "tok/s";
        /// what the table means.
        StampErrorsMean =>
            "How long after the server's write each token was stamped, against a server that \
             only writes.",
            "与只写数据的服务端对照：服务端写出后多久，客户端才为 token 打上时间戳。";
        /// Column: mean.
        MeanMicros => "mean µs", "平均 µs";
        /// Column: maximum.
        MaxMicros => "max µs", "最大 µs";
        /// where the certificate is kept.
        Kept => "Kept", "保存于";
        /// what it is good for.
        KeptFor => "{path}; runs are held against it", "{path}；后续运行以此为参照";
        /// `doctor URL`: key of what the server understands.
        Understands => "Understands", "支持";
        /// `doctor URL`: key of what it refuses.
        Refuses => "Refuses", "拒绝";
        /// `doctor URL`: key of its models.
        ServedModels => "Models", "模型";
        /// `doctor URL`: key of the longest context.
        Context => "Context", "上下文";
        /// `doctor URL`: `{count}` tokens.
        ContextIs => "{count} tokens", "{count} 个 token";
        /// `doctor URL`: nothing.
        Nothing => "nothing that was tried", "尝试过的均不在此列";
        /// Usage at the end of a stream.
        StreamUsage => "stream usage", "流式 usage";
        /// Usage with each chunk.
        ChunkUsage => "usage in every chunk", "逐 chunk usage";
        /// Prompts as token ids.
        TokenIds => "token ids", "token id 输入";
    }
}
