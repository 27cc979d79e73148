//! Words by which an author says that figures are not to be trusted, or that a server was not warm.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DoubtSaid {
    /// The figures are not to be trusted.
    Figures,
    /// The server was not warm.
    Cold,
}

const OF_FIGURES: &str = "仅供参考|只供参考|只作参考|仅作参考|只能参考|不太准|不准确|不准|存疑|可疑|不可靠|不靠谱|\
    数据异常|结果异常|数据有问题|结果有问题|reference only|inaccurate|not accurate|\
    unreliable|not reliable|questionable|suspicious|doubtful|dubious|grain of salt|\
    looks wrong|don't trust|do not trust";
const OF_COLD: &str = "冷启动|预热不足|预热不够|预热不充分|未预热|没预热|没有预热|未充分预热|cold start|\
    cold-start|no warm-up|no warmup|without warm|not warm|insufficient warm";
/// In front of such words: it is not so.
const DENIED: &str = "无|没有|不是|并非|不|no |not |not a |without |without a ";
/// A clause with one of these speaks of what may be or was avoided, or of figures of others.
const NOT_SAID: &str = "避免|防止|排除|剔除|去掉|不含|会|如果|若|官方|官网|论文|网上|avoid|prevent|exclud|would|\
    if |may |official|published|vendor";
/// Behind the words: how long it takes, which is a figure.
const DURATIONS: &str = "时间|耗时|用时|time|takes|took";

/// Whether a remark says that its author does not trust what stands beside it.
pub(crate) fn doubt_said(remark: &str) -> Option<DoubtSaid> {
    let remark = remark.to_lowercase();
    let clauses = remark.split(|c: char| "，,。；;！!（）()\n".contains(c));
    let clauses = clauses.filter(|clause| !NOT_SAID.split('|').any(|word| clause.contains(word)));
    let said = clauses.filter_map(|clause| {
        let has = |words: &str| words.split('|').any(|word| says(clause, word));
        if has(OF_FIGURES) {
            Some(DoubtSaid::Figures)
        } else {
            has(OF_COLD).then_some(DoubtSaid::Cold)
        }
    });
    let said = Vec::from_iter(said);
    let figures = said.iter().find(|it| **it == DoubtSaid::Figures);
    figures.or(said.first()).copied()
}

fn says(clause: &str, word: &str) -> bool {
    clause.match_indices(word).any(|(at, _)| {
        let (before, behind) = (&clause[..at], clause[at + word.len()..].trim_start());
        let is_figure = behind.starts_with(|c: char| c.is_ascii_digit())
            || DURATIONS.split('|').any(|word| behind.starts_with(word));
        // `不准备` and `不准用` say something else.
        let next = behind.chars().next();
        let is_part =
            word == "不准" && next.is_some_and(|c| c.is_alphabetic() && !"确的了啊吧".contains(c));
        !is_figure && !is_part && !DENIED.split('|').any(|denied| before.ends_with(denied))
    })
}

/// Whether a cell says of a server that it was warm.
pub(crate) fn is_warm(cell: &str) -> bool {
    let cell = cell.to_lowercase();
    let is_said = ["warm", "热启动", "已预热", "预热后"]
        .iter()
        .any(|word| cell.contains(word));
    is_said && doubt_said(&cell).is_none()
}
