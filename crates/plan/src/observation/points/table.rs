//! Tables as CSV, Markdown or JSON.

use serde_json::Value;

/// A header and its rows, with the line of each.
pub(super) struct PointTable {
    pub titles: Vec<String>,
    pub rows: Vec<(usize, Vec<String>)>,
}

impl PointTable {
    /// The same with bars, as people keep it in notes.
    pub(super) fn to_markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | ").replace('\n', " "));
        let rule = vec!["---".to_owned(); self.titles.len()];
        let rows = self.rows.iter().map(|(_, cells)| line(cells));
        line(&self.titles) + &line(&rule) + &rows.collect::<String>()
    }
}

pub(super) fn tables(text: &str) -> Vec<PointTable> {
    if text.trim_start().starts_with(['[', '{']) {
        of_json(text).into_iter().collect()
    } else {
        of_lines(text)
    }
}

/// Rows of objects that share their keys.
fn of_json(text: &str) -> Option<PointTable> {
    let rows = match serde_json::from_str::<Value>(text).ok()? {
        Value::Array(rows) => rows,
        Value::Object(mut object) => match object.remove("points")? {
            Value::Array(rows) => rows,
            _ => return None,
        },
        _ => return None,
    };
    let objects: Vec<_> = rows.iter().map(Value::as_object).collect::<Option<_>>()?;
    let mut titles: Vec<String> = Vec::new();
    for title in objects.iter().flat_map(|object| object.keys()) {
        if !titles.contains(title) {
            titles.push(title.clone());
        }
    }
    let cell = |value: Option<&Value>| match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let rows = objects.iter().enumerate().map(|(index, object)| {
        let cells = titles.iter().map(|title| cell(object.get(title)));
        (index + 1, cells.collect())
    });
    let rows = rows.collect();
    Some(PointTable { titles, rows })
}

/// Tables of bars, or of commas, semicolons or tabs from a header to the end of its lines.
fn of_lines(text: &str) -> Vec<PointTable> {
    let mut tables: Vec<PointTable> = Vec::new();
    let mut going: Option<Separator> = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_matches([' ', '\u{feff}']);
        let known = going.and_then(|known| Some((known, known.cells(line)?)));
        let Some((separator, cells)) = known.or_else(|| Separator::of(line)) else {
            going = None;
            continue;
        };
        going = going.filter(|known| *known == separator);
        if cells.iter().all(|cell| is_rule(cell)) {
            continue;
        }
        match tables.last_mut().filter(|_| going.is_some()) {
            Some(table) => table.rows.push((index + 1, cells)),
            None => tables.push(PointTable {
                titles: cells,
                rows: Vec::new(),
            }),
        }
        going = Some(separator);
    }
    tables
}

/// Between the cells of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Bar,
    Comma,
    Semicolon,
    Tab,
}

impl Separator {
    /// The one of a header, and its cells. Commas come last: they stand in cells as well.
    fn of(header: &str) -> Option<(Separator, Vec<String>)> {
        let known = [
            Separator::Bar,
            Separator::Tab,
            Separator::Semicolon,
            Separator::Comma,
        ];
        known
            .into_iter()
            .find_map(|it| Some((it, it.cells(header)?)))
    }

    /// The cells of a line; `None` where the separator is not in it.
    fn cells(self, line: &str) -> Option<Vec<String>> {
        let cells: Vec<String> = match self {
            Separator::Bar => {
                let row = line.strip_prefix('|')?.trim_end_matches('|');
                row.split('|').map(str::to_owned).collect()
            }
            _ if line.starts_with('|') => return None,
            Separator::Comma => parted(line, ','),
            Separator::Tab => parted(line, '\t'),
            // Where semicolons stand between numbers, commas stand in them.
            Separator::Semicolon => (parted(line, ';').iter())
                .map(|cell| with_decimal_point(cell))
                .collect(),
        };
        let trimmed = || cells.iter().map(|cell| cell.trim().to_owned());
        (self == Separator::Bar || cells.len() > 1).then(|| trimmed().collect())
    }
}

fn with_decimal_point(cell: &str) -> String {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|sign| sign.is_ascii_digit());
    match cell.trim().split_once(',') {
        Some((whole, rest)) if digits(whole) && digits(rest) => format!("{whole}.{rest}"),
        _ => cell.to_owned(),
    }
}

fn is_rule(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|sign| matches!(sign, '-' | ':'))
}

/// Cells of a line; separators in quotes or brackets are part of a cell.
fn parted(line: &str, separator: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let (mut quoted, mut depth) = (false, 0usize);
    for sign in line.chars() {
        match sign {
            '"' => quoted = !quoted,
            sign if sign == separator && !quoted && depth == 0 => cells.push(String::new()),
            sign => {
                match sign {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if let Some(cell) = cells.last_mut() {
                    cell.push(sign);
                }
            }
        }
    }
    cells
}
