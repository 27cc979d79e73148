//! Numbers whose decimal sign is a comma: `0,25`, `1.210,5`.

use inferometer_label::quantity::quantity;

/// Writes the numbers of a table with points, if commas are its decimal signs: some number can
/// be read in no other way, and none has a point before fewer or more than three digits.
pub(super) fn with_points(rows: &mut [Vec<String>]) {
    let cells = || rows.iter().flatten().map(String::as_str);
    if !cells().any(is_certain) || cells().any(contradicts) {
        return;
    }
    for cell in rows.iter_mut().flatten() {
        let plain = cell.replace('.', "").replace(',', ".");
        if cell.contains([',', '.']) && starts_with_digit(cell) && quantity(&plain).is_some() {
            *cell = plain;
        }
    }
}

fn starts_with_digit(cell: &str) -> bool {
    cell.starts_with(|c: char| c.is_ascii_digit())
}

/// One comma, and behind it not three digits, or 0 in front of it.
fn is_certain(cell: &str) -> bool {
    let Some((whole, decimals)) = cell.split_once(',') else {
        return false;
    };
    let digits = decimals.bytes().take_while(u8::is_ascii_digit).count();
    starts_with_digit(whole)
        && whole.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && digits > 0
        && (digits != 3 || whole == "0" || whole.contains('.'))
        && !decimals[digits..].starts_with(['.', ','])
}

/// A point that separates no thousands.
fn contradicts(cell: &str) -> bool {
    let Some((whole, decimals)) = cell.split_once('.') else {
        return false;
    };
    let digits = decimals.bytes().take_while(u8::is_ascii_digit).count();
    starts_with_digit(whole)
        && whole.bytes().all(|b| b.is_ascii_digit() || b == b',')
        && (digits != 3 || whole == "0" || whole.contains(','))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cells: &[&str]) -> Vec<String> {
        let mut rows = [cells.iter().map(|cell| (*cell).to_owned()).collect()];
        with_points(&mut rows);
        let [row] = rows;
        row
    }

    #[test]
    fn commas_are_points_where_no_number_speaks_against_it() {
        assert_eq!(
            read(&["0,25", "1.210,5 tok/s", "8", "m1, warm", "0,021"]),
            ["0.25", "1210.5 tok/s", "8", "m1, warm", "0.021"]
        );
        for cells in [["1,234", "56"], ["12,5", "3.25"], ["1,234.5", "0,5"]] {
            assert_eq!(read(&cells), cells);
        }
    }
}
