//! Tables as CSV, Markdown or JSON.

use serde_json::Value;

/// A header and its rows, with the line of each.
pub(super) struct Table {
    pub titles: Vec<String>,
    pub rows: Vec<(usize, Vec<String>)>,
}

/// All tables of a text.
pub(super) fn tables(text: &str) -> Vec<Table> {
    match text.trim_start().starts_with(['[', '{']) {
        true => of_json(text).into_iter().collect(),
        false => of_lines(text),
    }
}

/// Rows of objects that share their keys.
fn of_json(text: &str) -> Option<Table> {
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
    Some(Table { titles, rows })
}

/// Tables of bars, or of commas from a header to the end of its lines.
fn of_lines(text: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut going = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('\u{feff}');
        let cells = match line.strip_prefix('|') {
            Some(row) => row
                .trim_end_matches('|')
                .split('|')
                .map(str::to_owned)
                .collect(),
            None if line.contains(',') => commas(line),
            None => {
                going = false;
                continue;
            }
        };
        let cells: Vec<String> = cells
            .iter()
            .map(|cell: &String| cell.trim().to_owned())
            .collect();
        if cells.iter().all(|cell| is_rule(cell)) {
            continue;
        }
        match tables.last_mut().filter(|_| going) {
            Some(table) => table.rows.push((index + 1, cells)),
            None => tables.push(Table {
                titles: cells,
                rows: Vec::new(),
            }),
        }
        going = true;
    }
    tables
}

fn is_rule(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|sign| matches!(sign, '-' | ':'))
}

/// Cells of a line of CSV; commas in quotes or brackets are part of a cell.
fn commas(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let (mut quoted, mut depth) = (false, 0usize);
    for sign in line.chars() {
        match sign {
            '"' => quoted = !quoted,
            ',' if !quoted && depth == 0 => cells.push(String::new()),
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
