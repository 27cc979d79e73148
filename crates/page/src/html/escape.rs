//! Text that cannot become markup.

use inferometer_text::hostile;

pub(super) fn escaped(text: &str) -> String {
    hostile::escaped(&hostile::printable(text, usize::MAX))
}
