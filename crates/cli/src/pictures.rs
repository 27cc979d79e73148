//! Figures as files: one for each, or the only one where it was named.

use crate::options::Format;
use crate::stderr::say;
use anyhow::{Context, bail};
use inferometer_page::figure::theme::Theme;
use inferometer_page::figure::{Figure, font, png, svg};
use inferometer_store::whole_file;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Writes every figure where the user wants it, else into `figures/` of the report's folder.
pub fn write(
    figures: &[Figure],
    format: Format,
    theme: Theme,
    to: Option<&Path>,
    folder: &Path,
) -> anyhow::Result<()> {
    if figures.is_empty() {
        bail!("there is nothing to draw: nothing was measured");
    }
    for (file, figure) in targets(figures, format, to, folder)? {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        let picture = match format {
            Format::Svg => svg::render(figure, theme).into_bytes(),
            _ => png::render(figure, theme)?,
        };
        whole_file::replace(&file, &picture)?;
    }
    let missing: BTreeSet<char> = figures.iter().flat_map(font::undrawable).collect();
    if !missing.is_empty() {
        let signs: Vec<String> = (missing.iter())
            .map(|c| format!("{c} (U+{:04X})", u32::from(*c)))
            .collect();
        say(format_args!(
            "warning: the pictures' font cannot draw {}; use another label, or --format html",
            signs.join(", ")
        ));
    }
    Ok(())
}

fn targets<'a>(
    figures: &'a [Figure],
    format: Format,
    to: Option<&Path>,
    folder: &Path,
) -> anyhow::Result<Vec<(PathBuf, &'a Figure)>> {
    let extension = if format == Format::Svg { "svg" } else { "png" };
    let named = to.filter(|to| to.extension().is_some_and(|it| it == extension));
    if let Some(file) = named.filter(|file| !file.is_dir()) {
        return match figures {
            [alone] => Ok(vec![(file.to_owned(), alone)]),
            several => bail!(
                "-o {} is one file, and there are {} figures; name a folder",
                file.display(),
                several.len()
            ),
        };
    }
    let folder = match to {
        Some(to) => to.to_owned(),
        None => {
            let own = folder.join("figures");
            // The folder of a run may be a stranger's: nothing is written where a link leads.
            if own.is_symlink() {
                bail!(
                    "{} is a link; remove it, or name a folder with -o",
                    own.display()
                );
            }
            own
        }
    };
    let file = |figure: &Figure| folder.join(format!("{}.{extension}", figure.id));
    Ok(figures
        .iter()
        .map(|figure| (file(figure), figure))
        .collect())
}
