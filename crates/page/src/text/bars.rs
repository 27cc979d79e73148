//! Histograms in block characters, an eighth of a column fine.

use super::lines::{pad_left, width};
use crate::doc::Bar;
use crate::number;

/// Parts of a column, from one eighth to eight.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// The lines of a histogram: range, count, bar.
pub(super) fn lines(bars: &[Bar], columns: usize) -> Vec<String> {
    let ranges = bars
        .iter()
        .map(|bar| (number::count(bar.from), number::count(bar.to)));
    let ranges: Vec<(String, String)> = ranges.collect();
    let counts: Vec<String> = bars.iter().map(|bar| number::count(bar.count)).collect();
    let widest = |texts: &mut dyn Iterator<Item = &String>| texts.map(|t| width(t)).max();
    let from_width = widest(&mut ranges.iter().map(|(from, _)| from)).unwrap_or(0);
    let to_width = widest(&mut ranges.iter().map(|(_, to)| to)).unwrap_or(0);
    let count_width = widest(&mut counts.iter()).unwrap_or(0);
    let single = bars.iter().all(|bar| bar.from == bar.to);
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0);
    (bars.iter().zip(&ranges).zip(&counts))
        .map(|((bar, (from, to)), count)| {
            let range = if single {
                pad_left(from, from_width)
            } else {
                format!(
                    "{} – {}",
                    pad_left(from, from_width),
                    pad_left(to, to_width)
                )
            };
            let lead = format!("{range}  {}  ", pad_left(count, count_width));
            let room = columns.saturating_sub(width(&lead));
            format!("{lead}{}", drawn(bar.count, most, room))
        })
        .collect()
}

/// A bar as long as the count's share of the largest. What is there is seen, however little.
fn drawn(count: u64, most: u64, columns: usize) -> String {
    let share = count as f64 / most.max(1) as f64;
    let eighths = (share * (columns * 8) as f64).round() as usize;
    let eighths = eighths.max(usize::from(count > 0 && columns > 0));
    let mut bar = "█".repeat(eighths / 8);
    bar.extend((eighths % 8).checked_sub(1).map(|part| EIGHTHS[part]));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(from: u64, to: u64, count: u64) -> Bar {
        Bar { from, to, count }
    }

    #[test]
    fn bars_are_in_proportion_and_the_largest_fills_the_page() {
        let shown = lines(
            &[bar(5, 9, 1), bar(10, 1_999, 80), bar(2_000, 2_999, 20)],
            40,
        );
        assert_eq!(
            shown,
            [
                "    5 –     9   1  ▎",
                "   10 – 1,999  80  █████████████████████",
                "2,000 – 2,999  20  █████▎",
            ]
        );
    }

    #[test]
    fn single_values_stand_alone_and_what_is_rare_is_seen() {
        assert_eq!(
            lines(&[bar(1, 1, 3), bar(2, 2, 0)], 8),
            ["1  3  ██", "2  0  "]
        );
        assert!(lines(&[bar(1, 2, 1), bar(3, 4, 9_999)], 30)[0].ends_with('▏'));
        assert_eq!(lines(&[bar(1, 1, 3)], 2), ["1  3  "]);
    }
}
