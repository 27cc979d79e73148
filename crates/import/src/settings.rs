//! Settings of a server that notes give without a command: keys of MindIE's `config.json`, as a
//! fragment of it, in lines such as `maxBatchSize=32`, in a heading, or as a column of a table.
//! Headings name flags of other engines as well: `(--max-num-seqs 16)`.

use crate::commands::value;
use crate::context::{Above, places};
use crate::facts::engines;
use crate::group::load;
use crate::result::{ImportedResult, Tool};
use crate::section::{Section, chain, heading, home_of, sections};
use crate::unread::UnreadReason;
use inferometer_catalog::engine::flag::table;
use inferometer_catalog::engine::{EngineKind, Flag, Kind};
use inferometer_notes::{Notes, bare};
use inferometer_text::hostile::printable;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

/// Keys of MindIE that other programs have as well: beside others of MindIE they are its own.
const OF_OTHERS: [&str; 4] = ["modelName", "ipAddress", "port", "truncation"];
/// Unknown keys of one configuration that are listed.
const MOST_UNKNOWN: usize = 40;
/// Longest line that is looked at, in bytes.
const LONGEST: usize = 20_000;

/// MindIE's keys, without the sections of the file that they stand in.
static KEYS: LazyLock<HashMap<&str, &Flag>> = LazyLock::new(|| {
    let flags = table(EngineKind::Mindie).iter();
    let key = |flag: &'static Flag| flag.name.rsplit('.').next().map(|key| (key, flag));
    flags.filter_map(key).collect()
});

type Values = BTreeMap<String, Value>;
type Unread = Vec<(String, UnreadReason)>;

/// What some lines of one section say that stand together between results.
#[derive(Clone, Debug, Default)]
struct Statement {
    lines: (usize, usize),
    values: Values,
    unread: Unread,
    /// As a file has it, not in prose.
    is_file: bool,
}

impl Statement {
    fn take(&mut self, (key, given): Pair) {
        let before = self.values.get(&key);
        let told_twice = self.unread.iter().any(|(name, _)| *name == key);
        let reason = match (given, before) {
            _ if told_twice => return,
            (Ok(given), Some(before)) if given != *before => UnreadReason::Twice,
            (Ok(given), _) => {
                self.values.insert(key, given);
                return;
            }
            (Err(reason), _) => reason,
        };
        self.values.remove(&key);
        if self.unread.len() < MOST_UNKNOWN {
            self.unread.push((key, reason));
        }
    }
}

/// Adds settings to the results below them, and what is not known of these. Returns configurations
/// without a result.
pub(crate) fn attach(results: &mut [ImportedResult], notes: &mut Notes<'_>) -> Vec<(usize, usize)> {
    let sections = sections(notes);
    let statements = statements(results, notes, &sections);
    if statements.is_empty() && sections.is_empty() {
        return Vec::new();
    }
    let titles: Vec<Heading> = sections.iter().map(|it| of_heading(&it.title)).collect();
    // What holds now, by section; 0 is above all headings.
    let mut now: BTreeMap<usize, (usize, Statement)> = BTreeMap::new();
    let mut coming = statements.iter().enumerate().peekable();
    let mut has_result = vec![false; statements.len()];
    let mut served: Vec<(usize, usize, Option<Values>)> = Vec::new();
    let mut lines_above = Above::default();
    let mut chains = Vec::new();
    for (place, found) in results.iter_mut().enumerate() {
        let (first, _) = found.span();
        let is_again = lines_above.says_again(found, notes);
        while let Some((at, stated)) = coming.next_if(|(_, it)| it.lines.0 < first) {
            let home = home_of(&sections, stated.lines.0);
            let (last, holds) = now.entry(home).or_default();
            *last = at;
            let mut further = stated.clone();
            holds
                .unread
                .retain(|(key, _)| !further.values.contains_key(key));
            holds.unread.append(&mut further.unread);
            holds.unread.truncate(MOST_UNKNOWN);
            holds.values.append(&mut further.values);
        }
        let above = chain(&sections, first);
        let engine = above.iter().find_map(|at| engines(&sections[*at].title));
        let is_mindie = engine.is_none_or(|engine| engine.contains("MindIE"));
        let before = found.flags.clone();
        let mut of_statement = None;
        let mut stated = Statement::default();
        let homes = std::iter::once(0).chain(above.iter().rev().map(|at| at + 1));
        for home in homes.clone().filter(|_| is_mindie) {
            if let Some(title) = home.checked_sub(1).map(|at| &titles[at]) {
                stated.values.extend(title.mindie.clone());
            }
            if let Some((last, holds)) = now.get(&home) {
                of_statement = Some(*last);
                has_result[*last] = true;
                stated.unread.extend(holds.unread.clone());
                stated.values.extend(holds.values.clone());
            }
        }
        for (key, value) in stated.values {
            // A column of its table says more.
            let flags = found.flags.get_or_insert_default();
            flags.entry(key).or_insert(value);
        }
        for (key, reason) in stated.unread {
            found.is_without(key, reason);
        }
        for title in homes.filter_map(|home| titles.get(home.checked_sub(1)?)) {
            for (flag, name, value) in &title.others {
                let flags = found.flags.get_or_insert_default();
                let mut spellings = flag.aliases.iter().map(|it| it.trim_start_matches('-'));
                let known = spellings.find(|it| flags.contains_key(*it));
                let known = known.or(flags.contains_key(&flag.name).then_some(&flag.name));
                flags.insert(known.unwrap_or(name).to_owned(), value.clone());
            }
        }
        let is_own = before.is_some() && found.tool == Tool::MarkdownTable;
        if let Some(last) = of_statement.filter(|_| !is_own)
            && !is_again
        {
            chains.push((above, load(found)));
            served.push((place, last, before));
        }
    }
    // Of two results at one load below one configuration, who knows what was changed in between?
    let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    let homes = places(&chains);
    for (at, ((_, last, _), (home, (_, load)))) in
        served.iter().zip(homes.iter().zip(&chains)).enumerate()
    {
        alike.entry((*last, *home, load)).or_default().push(at);
    }
    let unsure = alike.iter().filter(|(_, same)| same.len() > 1);
    let unsure: BTreeSet<_> = unsure.map(|((last, home, _), _)| (*last, *home)).collect();
    for ((place, last, before), home) in served.into_iter().zip(homes) {
        if unsure.contains(&(last, home)) {
            results[place].flags = before;
        }
    }
    let idle = statements.iter().zip(has_result);
    let idle = idle.filter(|(stated, has_result)| stated.is_file && !has_result);
    idle.map(|(stated, _)| stated.lines).collect()
}

/// All that lines say, in their order. Lines that say nothing else are taken.
fn statements(
    results: &[ImportedResult],
    notes: &mut Notes<'_>,
    sections: &[Section],
) -> Vec<Statement> {
    let mut all: Vec<(_, Statement)> = Vec::new();
    let mut at = 0;
    while at < notes.lines.len() {
        let first = at;
        at += 1;
        let text = notes.lines[first];
        if notes.is_taken(first) || heading(text.trim()).is_some() || text.len() > LONGEST {
            continue;
        }
        let (pairs, is_all, is_file);
        if is_of_object(text) {
            while at < notes.lines.len()
                && !notes.is_taken(at)
                && is_of_object(notes.lines[at])
                && notes.lines[at].len() <= LONGEST
            {
                at += 1;
            }
            let lines = notes.lines[first..at].iter();
            pairs = lines
                .flat_map(|line| pairs_of(line, Style::Object).0)
                .collect();
            (is_all, is_file) = (true, true);
        } else {
            let (listed, rest) = pairs_of(bare(text), Style::List);
            is_all = !rest
                .replace(['单', '卡', '张'], "")
                .contains(char::is_alphabetic);
            pairs = if is_all {
                listed
            } else {
                pairs_of(text, Style::Prose).0
            };
            is_file = false;
        }
        let is_mindies = |(key, _): &Pair| is_camel(key) && !OF_OTHERS.contains(&key.as_str());
        let is_known = |pair: &Pair| KEYS.contains_key(pair.0.as_str()) && is_mindies(pair);
        if !pairs.iter().any(is_known) {
            continue;
        }
        if is_all {
            notes.take((first, at - 1));
        }
        let results_before = results.partition_point(|it| it.span().0 < first);
        let id = (home_of(sections, first), results_before);
        if all.last().is_none_or(|(last, _)| *last != id) {
            let lines = (first, first);
            all.push((
                id,
                Statement {
                    lines,
                    ..Statement::default()
                },
            ));
        }
        if let Some((_, stated)) = all.last_mut() {
            stated.lines.1 = at - 1;
            stated.is_file |= is_file;
            for pair in pairs {
                stated.take(pair);
            }
        }
    }
    all.into_iter().map(|(_, stated)| stated).collect()
}

/// Whether a line may be one of a JSON object.
fn is_of_object(line: &str) -> bool {
    let text = line.trim();
    let begins = text.starts_with(['"', '{', '}', ']', '[']);
    begins && (text.len() < 4 || text.contains(['"', '{', '}', '[', ']']))
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    /// `"key": value`.
    Object,
    /// `key=value` or `key: value` between words.
    Prose,
    /// Likewise, and `key value`.
    List,
}

type Pair = (String, Result<Value, UnreadReason>);

/// Keys with their values, and what is left of the text without them.
fn pairs_of(text: &str, style: Style) -> (Vec<Pair>, String) {
    let (mut pairs, mut left, mut rest) = (Vec::new(), String::new(), text);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some(begin) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        let end = rest[begin..].find(|c| !is_part(c));
        let end = end.map_or(rest.len(), |end| begin + end);
        let word = &rest[begin..end];
        let is_quoted = rest[..begin].ends_with('"') && rest[end..].starts_with('"');
        let known = KEYS.get(word).filter(|_| is_quoted || is_camel(word));
        let is_meant = match style {
            Style::Object => is_quoted,
            _ => known.is_some() || is_camel(word),
        };
        // A key behind other letters or digits is part of another name.
        let is_whole = !rest[..begin].ends_with(|c: char| is_part(c) || c == '-');
        let read = (is_meant && is_whole).then(|| given(&rest[end..], known.copied(), style));
        if let Some(Some((value, behind))) = read {
            pairs.push((printable(word, 80), value));
            left.push_str(&rest[..begin]);
            rest = behind;
        } else {
            left.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    left.push_str(rest);
    (pairs, left)
}

/// `maxBatchSize`, not `Config` or `TTFT`.
fn is_camel(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.contains(|c: char| c.is_ascii_uppercase())
}

/// What stands behind a key, if it is one value: read, or why not; and the text behind it.
fn given<'t>(
    text: &'t str,
    key: Option<&Flag>,
    style: Style,
) -> Option<(Result<Value, UnreadReason>, &'t str)> {
    let text = text.trim_start_matches(['"', '\'', '`', '*']);
    let trimmed = text.trim_start();
    let rest = match trimmed.strip_prefix(['=', ':', '：']) {
        Some(rest) => rest.trim_start_matches([' ', '\t', '`', '*']),
        None if style == Style::List && key.is_some() && trimmed.len() < text.len() => trimmed,
        None => return None,
    };
    let is_separated = rest.len() != trimmed.len();
    let (word, behind) = if let Some(quoted) = rest.strip_prefix('"') {
        quoted.split_once('"')?
    } else if rest.starts_with('[') {
        let end = rest.rfind(']')? + 1;
        // A list of objects holds settings of its own.
        if rest[..end].contains('{') {
            return None;
        }
        rest.split_at(end)
    } else if rest.starts_with('{') {
        return None;
    } else {
        let is_end = |c: char| c.is_whitespace() || ",，;；。、)）(（}]`|+".contains(c);
        rest.split_at(rest.find(is_end).unwrap_or(rest.len()))
    };
    let Some(key) = key else {
        let is_value = !word.is_empty() && !word.starts_with('[');
        return is_value.then_some((Err(UnreadReason::UnknownName), behind));
    };
    let read = of_key(key, word);
    // Without a sign between them only a number is meant.
    if !is_separated && !read.as_ref().is_some_and(Value::is_number) {
        return None;
    }
    (!word.is_empty()).then(|| (read.ok_or(UnreadReason::NotANumber), behind))
}

/// A value as its key has it; `None` if it is no such value.
fn of_key(key: &Flag, word: &str) -> Option<Value> {
    let given = value(word);
    match key.kind {
        Kind::Int if given.is_number() => Some(given),
        Kind::Int => {
            let end = word.find(|c: char| !c.is_ascii_digit() && c != '-');
            let (number, behind) = word.split_at(end.unwrap_or(word.len()));
            // `32时`, not `16/32`, `8k` or `50%`.
            let is_whole = behind.starts_with(|c: char| !c.is_ascii() && c.is_alphabetic());
            value(number.trim())
                .as_i64()
                .filter(|_| is_whole)
                .map(Value::from)
        }
        Kind::Switch if given.is_boolean() || matches!(word, "0" | "1") => Some(given),
        Kind::Switch => None,
        _ => Some(Value::from(printable(word, 200))),
    }
}

/// What a heading sets: keys of MindIE, and flags of others with their names as written.
#[derive(Default)]
struct Heading {
    mindie: Values,
    others: Vec<(&'static Flag, String, Value)>,
}

fn of_heading(title: &str) -> Heading {
    let mut stated = Statement::default();
    for pair in pairs_of(title, Style::List).0 {
        if KEYS.contains_key(pair.0.as_str()) {
            stated.take(pair);
        }
    }
    let is_end = |c: char| c.is_whitespace() || "()（）[],，;；、`".contains(c);
    let words: Vec<&str> = title.split(is_end).filter(|it| !it.is_empty()).collect();
    let mut others: Vec<(&'static Flag, String, Value)> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let (name, inline) = word.split_once('=').unzip();
        let Some((flag, on, name)) = flag_named(name.unwrap_or(word)) else {
            continue;
        };
        let next = || {
            words
                .get(at + 1)
                .copied()
                .filter(|it| !it.starts_with("--"))
        };
        // `64 vs 256` and `64 → 256` are two settings.
        let of_two = words
            .get(at + 2)
            .is_some_and(|it| matches!(*it, "vs" | "→" | "->" | "/" | "对比"));
        let is_given = word.starts_with("--");
        let read = match inline.or_else(next) {
            _ if !flag.kind.takes_value() && is_given => Some(Value::Bool(on)),
            Some(_) if of_two => None,
            Some(text) if flag.parse(text).is_ok() => {
                let number = value(text);
                Some(number).filter(|it| is_given || inline.is_some() || it.is_number())
            }
            _ => None,
        };
        others.extend(read.map(|value| (flag, name, value)));
    }
    let mut names: Vec<&str> = others.iter().map(|(flag, ..)| flag.name.as_str()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        others.clear();
    }
    Heading {
        mindie: stated.values,
        others,
    }
}

/// Flags of vLLM and SGLang by all their spellings, and whether these switch them on.
static FLAGS: LazyLock<HashMap<String, (&Flag, bool)>> = LazyLock::new(|| {
    let mut flags = HashMap::new();
    for engine in [EngineKind::Vllm, EngineKind::Sglang] {
        for flag in table(engine) {
            let aliases = flag.aliases.iter().map(|it| it.trim_start_matches('-'));
            for name in aliases.chain([flag.name.as_str()]) {
                flags.entry(name.to_owned()).or_insert((flag, true));
                if !flag.kind.takes_value() {
                    flags.entry(format!("no-{name}")).or_insert((flag, false));
                }
            }
        }
    }
    flags
});

/// The flag that a word names, as it is typed or by a name of several words.
fn flag_named(word: &str) -> Option<(&'static Flag, bool, String)> {
    let name = word.trim_start_matches('-').replace('_', "-");
    if !word.starts_with("--") && !name.contains('-') {
        return None;
    }
    let (flag, on) = *FLAGS.get(&name)?;
    let name = if on { name } else { flag.name.clone() };
    Some((flag, on, name))
}

/// A column that is a setting of a server.
pub(crate) enum Column {
    OfMindie(String, &'static Flag),
    OfOthers(String, &'static Flag),
}

impl Column {
    pub(crate) fn named(name: &str) -> Option<Self> {
        let word = name.trim().trim_matches('`');
        let key = word.rsplit('.').next().unwrap_or(word);
        if let Some(flag) = KEYS
            .get(key)
            .filter(|_| is_camel(key) && !OF_OTHERS.contains(&key))
        {
            return Some(Column::OfMindie(key.to_owned(), flag));
        }
        let (flag, on, name) = flag_named(word)?;
        on.then_some(Column::OfOthers(name, flag))
    }

    /// The value in a cell, by its name.
    pub(crate) fn value(&self, cell: &str) -> Option<(String, Value)> {
        let cell = cell.trim().trim_matches('`');
        let (name, given) = match self {
            Column::OfMindie(name, flag) => (name, of_key(flag, cell)?),
            Column::OfOthers(name, flag) => (name, flag.parse(cell).is_ok().then(|| value(cell))?),
        };
        Some((name.clone(), given))
    }
}
