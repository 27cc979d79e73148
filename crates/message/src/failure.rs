//! What the client says of a failed request where no server said anything. Records keep it in English,
//! as `load` has it.

inferometer_text::texts! {
    pub enum FailureText {
        NoAnswer => "the server closed the connection without an answer", "服务端未作回答就关闭了连接";
        InsideHead => "the server closed the connection inside the headers", "服务端在响应头未发完时关闭了连接";
        InsideAnswer => "the connection was closed inside the answer", "回答未发完，连接已关闭";
        NoToken => "status 200, and a stream without a token or a finish", "状态 200，但流中没有 token，也没有结束标记";
        NoEnd => "the stream ended without a finish reason or [DONE]", "流已结束，但没有 finish_reason 或 [DONE]";
        NoItem => "status 200, and an answer without an item", "状态 200，但回答中没有条目";
        NoChoice => "status 200, and an answer without a choice", "状态 200，但回答中没有 choice";
        Silence => "silence for longer than --read-timeout", "超过 --read-timeout 没有收到任何内容";
        TooSlow => "not complete within --request-timeout", "未在 --request-timeout 内完成";
    }
}

impl FailureText {
    /// A sample of a failure in a language: the server's own words stay as they are.
    pub fn shown(sample: &str, lang: inferometer_text::Lang) -> &str {
        let known = |text: &&FailureText| text.text(inferometer_text::Lang::En) == sample;
        FailureText::ALL
            .iter()
            .find(known)
            .map_or(sample, |text| text.text(lang))
    }
}
