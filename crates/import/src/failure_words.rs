//! Words that say that something failed.

/// What became of a request, behind its name.
pub(crate) const FAILED: [&str; 12] = [
    "failed",
    "rejected",
    "refused",
    "timed out",
    "errored",
    "aborted",
    "dropped",
    "失败",
    "被拒",
    "拒绝",
    "超时",
    "报错",
];
/// Words of a cell in place of a figure that could not be measured.
const NOT_MEASURED: [&str; 6] = ["fail", "error", "crash", "refuse", "timeout", "崩溃"];

/// Whether a line or cell says that memory was exhausted.
pub(crate) fn is_out_of_memory(text: &str) -> bool {
    let text = text.to_lowercase();
    let said = [
        "out of memory",
        "outofmemory",
        "显存不足",
        "内存不足",
        "爆显存",
    ];
    let is_word = |word: &str| word == "oom";
    said.iter().any(|said| text.contains(said))
        || text.split(|c: char| !c.is_alphanumeric()).any(is_word)
}

/// Whether a remark says that what it stands beside does not count.
pub(crate) fn is_void(remark: &str) -> bool {
    const VOID: [&str; 5] = ["作废", "无效", "废弃", "不可信", "不作数"];
    let remark = remark.to_lowercase();
    let is_word = |word: &str| ["void", "invalid", "discard", "discarded"].contains(&word);
    VOID.iter().any(|void| remark.contains(void))
        || remark.split(|c: char| !c.is_alphanumeric()).any(is_word)
}

/// The share of requests that a remark says to have failed: `40% of requests failed`, `5 % 超时`.
pub(crate) fn failed_share(remark: &str) -> Option<f64> {
    let remark = remark.to_lowercase();
    let mut clauses = remark.split([',', ';', '，', '；', '。']);
    clauses.find_map(|clause| {
        let mut words = FAILED.iter().chain(&["error", "错误"]);
        words.find(|word| clause.contains(**word))?;
        let (before, _) = clause.split_once(['%', '％'])?;
        let before = before.trim_end();
        let is_digit = |c: char| c.is_ascii_digit() || c == '.';
        let digits = &before[before.trim_end_matches(is_digit).len()..];
        let share = digits.parse::<f64>().ok()? / 100.0;
        (share > 0.0 && share <= 1.0).then_some(share)
    })
}

/// Whether a cell says in place of a figure that its load failed as a whole: `refused`, `超时`.
pub(crate) fn is_failure(cell: &str) -> bool {
    let cell = cell.to_lowercase();
    let mut words = FAILED.iter().chain(&NOT_MEASURED);
    !cell.contains(|c: char| c.is_ascii_digit()) && words.any(|word| cell.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_tell_shares_of_failures_and_what_does_not_count() {
        for (remark, expected) in [
            ("有 40% 请求报错 503", Some(0.4)),
            ("2.5 % of the requests failed", Some(0.025)),
            ("失败率 3%", Some(0.03)),
            ("CPU 100%, 无失败", None),
            ("0% failed", None),
            ("GPU 利用率 40%", None),
        ] {
            assert_eq!(failed_share(remark), expected, "{remark}");
        }
        assert!(is_void("客户端 CPU 100%, 作废") && is_void("void: wrong card"));
        assert!(!is_void("avoid this one at noon"));
    }
}
