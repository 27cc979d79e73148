//! Notes: what a reader of a run should know and need not doubt.

use inferometer_core::note::{Known, Note};
use inferometer_text::{Lang, fill, texts};
use serde_json::Value;

texts! {
    pub enum NoteText {
        ManyModels =>
            "the server lists {count} models; the first, {model}, is measured (choose with \
             --model)",
            "服务端提供 {count} 个模型；测量第一个 {model}（可用 --model 选择）";
        NoChatApi =>
            "the server has no chat API; completions is measured",
            "服务端没有 chat API；改测 completions";
        RefusesIgnoreEos =>
            "the server refuses ignore_eos: answers may end before the asked length",
            "服务端不支持 ignore_eos：回答可能短于要求的长度";
        RefusesStreamOptions =>
            "the server refuses stream_options: usage cannot be asked for",
            "服务端不支持 stream_options：无法请求 usage";
        RefusesField =>
            "the server refuses {field}; it is not sent",
            "服务端不支持 {field}；不再发送该字段";
        EndsEarly =>
            "the server accepts ignore_eos but ends early anyway ({received} of {asked} \
             tokens in the preflight)",
            "服务端接受 ignore_eos 却仍提前结束（预检中 {asked} token 只返回 {received}）";
        AnswersWhole =>
            "the server does not stream although asked to: there is no TTFT",
            "请求流式却收到整段回答：没有 TTFT";
        RaisedOpenFiles =>
            "the open-file limit was raised from {from} to {to}",
            "打开文件数上限已从 {from} 提高到 {to}";
        CyclesPrompts =>
            "the work has {distinct} distinct prompts, which are reused in turn",
            "共有 {distinct} 条不同的提示词，循环使用";
        DataFormat =>
            "the data was read as {format}; rows taken: {rows}",
            "数据按 {format} 读取；取用 {rows} 行";
        BadRows =>
            "bad rows were skipped: {count}, the first in line {line} ({reason})",
            "跳过损坏的行：{count} 行，首个在第 {line} 行（{reason}）";
        UnusableRows =>
            "rows without a usable prompt or answer: {count}",
            "没有可用提示词或回答的行：{count}";
        FilteredRows =>
            "the filters left out {count} of {seen} rows",
            "{seen} 行中有 {count} 行被过滤条件排除";
        DataTooLarge =>
            "the data is too large for memory; only the first part is used (choose rows with \
             --limit or --shuffle and --requests)",
            "数据太大，无法全部载入；只用前一部分（可用 --limit，或 --shuffle 与 --requests 选\
             取）";
        DefaultTokenizer =>
            "lengths in the data were counted with {tokenizer}; give the model's own with \
             --tokenizer",
            "数据长度由 {tokenizer} 计数；请用 --tokenizer 指定模型自己的分词器";
        BytesAsTokens =>
            "the tokenizer 'bytes' counts a byte as a token; real counts are lower",
            "分词器 'bytes' 把一个字节算作一个 token；真实数量更少";
        TokenizerAgrees =>
            "the server's tokenizer counts the same ({samples} prompts compared)",
            "与服务端分词器计数一致（比对 {samples} 条提示词）";
        TokenizerDiffers =>
            "the server's tokenizer counts {servers} tokens where ours counts {ours}; give the \
             model's own with --tokenizer",
            "服务端分词器计 {servers} token，本地计 {ours}；请用 --tokenizer 指定模型自己的分词\
             器";
        ChatTemplate =>
            "the model's chat template adds {tokens} tokens to each prompt",
            "模型的对话模板给每条提示词增加 {tokens} token";
        TemplateChars =>
            "the template around the text has {chars} characters",
            "文本外的模板为 {chars} 字符";
        TemplateCharsTokens =>
            "the template around the text has {chars} characters, {tokens} tokens",
            "文本外的模板为 {chars} 字符、{tokens} token";
        VirtualTime =>
            "computed in virtual time: what the simulated engine would do; no server and no client took part",
            "以虚拟时间计算得出：模拟引擎的预期表现，没有真实的服务端和客户端参与";
        CacheEmptied =>
            "the server's prefix cache was emptied before the run",
            "测试前已清空服务端的前缀缓存";
        TraceLengthsOnly =>
            "only the lengths of the trace are used; leave out --rate and --concurrency to \
             replay its times",
            "只使用 trace 的长度；去掉 --rate 和 --concurrency 即可按其时间回放";
        DamagedLines =>
            "unreadable journal lines left out: {lines}",
            "日志中无法读取而略去的行：{lines}";
        NoHashes =>
            "SHA256SUMS is missing: whether these are the figures that were measured cannot be checked",
            "缺少 SHA256SUMS：无法核对这些数据是否仍为测得时的数据";
    }
}

/// What a note says: the values of its fields in the places that bear their names.
pub fn text(note: &Note, lang: Lang) -> String {
    let known = match note {
        Note::Known(known) => known,
        Note::Text(text) => return text.clone(),
    };
    let fields = match serde_json::to_value(known) {
        Ok(Value::Object(fields)) => fields,
        _ => return key(known).text(lang).to_owned(),
    };
    let values: Vec<(&str, String)> = (fields.iter())
        .map(|(name, value)| match value {
            Value::String(text) => (name.as_str(), text.clone()),
            other => (name.as_str(), other.to_string()),
        })
        .collect();
    fill(key(known).text(lang), &values)
}

fn key(known: &Known) -> NoteText {
    match known {
        Known::ManyModels { .. } => NoteText::ManyModels,
        Known::NoChatApi => NoteText::NoChatApi,
        Known::RefusesField { field } => match field.as_str() {
            "ignore_eos" => NoteText::RefusesIgnoreEos,
            "stream_options" => NoteText::RefusesStreamOptions,
            _ => NoteText::RefusesField,
        },
        Known::EndsEarly { .. } => NoteText::EndsEarly,
        Known::AnswersWhole => NoteText::AnswersWhole,
        Known::RaisedOpenFiles { .. } => NoteText::RaisedOpenFiles,
        Known::CyclesPrompts { .. } => NoteText::CyclesPrompts,
        Known::DataFormat { .. } => NoteText::DataFormat,
        Known::BadRows { .. } => NoteText::BadRows,
        Known::UnusableRows { .. } => NoteText::UnusableRows,
        Known::FilteredRows { .. } => NoteText::FilteredRows,
        Known::DataTooLarge => NoteText::DataTooLarge,
        Known::DefaultTokenizer { .. } => NoteText::DefaultTokenizer,
        Known::BytesAsTokens => NoteText::BytesAsTokens,
        Known::TokenizerAgrees { .. } => NoteText::TokenizerAgrees,
        Known::TokenizerDiffers { .. } => NoteText::TokenizerDiffers,
        Known::ChatTemplate { .. } => NoteText::ChatTemplate,
        Known::Template { tokens: None, .. } => NoteText::TemplateChars,
        Known::Template { .. } => NoteText::TemplateCharsTokens,
        Known::VirtualTime => NoteText::VirtualTime,
        Known::CacheEmptied => NoteText::CacheEmptied,
        Known::TraceLengthsOnly => NoteText::TraceLengthsOnly,
        Known::DamagedLines { .. } => NoteText::DamagedLines,
        Known::NoHashes => NoteText::NoHashes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_its_values_in_both_languages() {
        let note = Note::from(Known::CyclesPrompts { distinct: 7 });
        assert!(text(&note, Lang::En).contains("7 distinct prompts"));
        assert!(text(&note, Lang::Zh).contains("7 条不同的提示词"));
        let old = Note::Text("as it was".to_owned());
        assert_eq!(text(&old, Lang::En), "as it was");
    }
}
