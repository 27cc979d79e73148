//! What `inferometer doctor` says.

use inferometer_text::texts;

texts! {
    /// The client's host and what a server understands.
    pub enum DoctorText {
        Host => "Host", "主机";
        HostIs => "{cpu}, {cores} cores", "{cpu}，{cores} 核";
        Ceiling => "Ceiling", "上限";
        CeilingIs =>
            "{one} token events/s per worker where each comes in its own write, {batched} in \
             writes of sixteen",
            "单 worker 每秒 {one} 个 token 事件（逐个写出），{batched} 个（每次写出十六个）";
        StampErrors => "Time-stamp error", "时间戳误差";
        Streams => "streams", "流数";
        TokenEvents => "tok/s", "tok/s";
        StampErrorsMean =>
            "How long after the server's write each token was stamped, against a server that \
             only writes.",
            "与只写数据的服务端对照：服务端写出后多久，客户端才为 token 打上时间戳。";
        MeanMicros => "mean µs", "平均 µs";
        MaxMicros => "max µs", "最大 µs";
        Kept => "Kept", "保存于";
        KeptFor => "{path}; runs are compared with it", "{path}；后续运行以此为参照";
        Understands => "Understands", "支持";
        Refuses => "Refuses", "拒绝";
        ServedModels => "Models", "模型";
        Software => "Software", "软件";
        Context => "Context", "上下文";
        ContextIs => "{count} tokens", "{count} 个 token";
        Nothing => "none of those tried", "尝试过的均不在此列";
        StreamUsage => "stream usage", "流式 usage";
        ChunkUsage => "usage in every chunk", "逐 chunk usage";
        TokenIds => "token ids", "token id 输入";
    }
}
