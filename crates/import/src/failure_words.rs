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

/// Whether a cell says in place of a figure that its load failed as a whole: `refused`, `超时`.
pub(crate) fn is_failure(cell: &str) -> bool {
    let cell = cell.to_lowercase();
    let mut words = FAILED.iter().chain(&NOT_MEASURED);
    !cell.contains(|c: char| c.is_ascii_digit()) && words.any(|word| cell.contains(word))
}
