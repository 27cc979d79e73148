//! How far each side of a comparison meets its objectives.

use super::{CompareReport, label_of, shown, verdict_word};
use inferometer_compare::{Verdict, WithinSlo};
use inferometer_message::{CompareText, ComparedMetric};
use inferometer_page::doc::{Cell, Column, Section, Table, Tone, Verdict as Judgement};
use inferometer_text::punctuation::PunctuationText;

/// The highest load of every side that meets its objectives; absent where none has any.
pub(super) fn section(report: &CompareReport<'_>) -> Option<Section> {
    let lang = report.lang;
    let ladders = &report.comparison.within_slo;
    let first = ladders.first()?;
    let one_goal = ladders.iter().all(|it| it.objectives == first.objectives);
    let with_settings = ladders.iter().any(|it| !it.setting.0.is_empty());
    let with_cards = ladders.iter().any(|it| it.verdict_per_card.is_some());
    let mut columns = vec![Column::left(CompareText::Side.text(lang))];
    if with_settings {
        columns.push(Column::left(CompareText::Setting.text(lang)));
    }
    if !one_goal {
        columns.push(Column::left(CompareText::Objectives.text(lang)));
    }
    columns.extend([
        Column::right(CompareText::MetUpTo.text(lang)),
        Column::right(CompareText::MissedAt.text(lang)),
        Column::right(ComparedMetric::RequestsPerS.text(lang)),
        Column::right(ComparedMetric::OutputTokensPerS.text(lang)),
    ]);
    if with_cards {
        columns.push(Column::right(
            ComparedMetric::OutputTokensPerSPerCard.text(lang),
        ));
    }
    let cells = ladders.iter().map(|ladder| {
        let mut cells = vec![Cell::text(label_of(report.groups, &ladder.group))];
        if with_settings {
            cells.push(Cell::text(shown(&ladder.setting)));
        }
        if !one_goal {
            cells.push(Cell::text(ladder.objectives.join(" ")));
        }
        let each = ladder.output_tokens_per_s.zip(ladder.cards);
        cells.extend([
            Cell::text(met(report, ladder)),
            Cell::known(ladder.missed_at.map(|load| named(ladder, load))),
            Cell::brief(ladder.requests_per_s),
            Cell::brief(ladder.output_tokens_per_s),
        ]);
        if with_cards {
            cells.push(Cell::brief(each.map(|(all, cards)| all / cards)));
        }
        cells
    });
    let heading = if one_goal {
        let goal = [("objectives", first.objectives.join(" "))];
        CompareText::WithinSloOf.with(lang, &goal)
    } else {
        CompareText::WithinSlo.text(lang).to_owned()
    };
    Some(Section::headed(&heading, [Table::new(columns, cells)]))
}

/// The load of a ladder as it is typed.
fn named(ladder: &WithinSlo, load: f64) -> String {
    format!("{}={load}", ladder.load)
}

fn met(report: &CompareReport<'_>, ladder: &WithinSlo) -> String {
    match (ladder.met_up_to, ladder.not_stated_at) {
        (Some(load), _) => named(ladder, load),
        (None, Some(_)) => CompareText::LoadNotStated.text(report.lang).to_owned(),
        (None, None) => CompareText::NoLoad.text(report.lang).to_owned(),
    }
}

/// What the ladders of a group say against those of the baseline.
pub(super) fn verdicts(report: &CompareReport<'_>, group: &str, label: &str) -> Vec<Judgement> {
    let lang = report.lang;
    let ladders = &report.comparison.within_slo;
    let own = ladders.iter().filter(|ladder| ladder.group == group);
    own.flat_map(|ladder| {
        let partner = ladders.iter().find(|it| {
            it.group == report.comparison.baseline && it.setting.key() == ladder.setting.key()
        });
        let mut both = std::iter::once(ladder).chain(partner);
        let is_open = both.any(|it| it.not_stated_at.is_some());
        let said = |verdict: Verdict, form: CompareText| {
            let values = [
                ("own", met(report, ladder)),
                (
                    "other",
                    partner.map_or_else(String::new, |it| met(report, it)),
                ),
                (
                    "setting",
                    if ladder.setting.0.is_empty() {
                        String::new()
                    } else {
                        PunctuationText::Comma.join(lang, &["", &shown(&ladder.setting)])
                    },
                ),
                ("group", label.to_owned()),
            ];
            let form = match verdict {
                Verdict::NotComparable => CompareText::OtherObjectives,
                Verdict::Unknown if is_open => CompareText::SloNotStated,
                Verdict::Unknown => CompareText::SloUndecided,
                _ => form,
            };
            let (word, tone) = match verdict {
                Verdict::Better => (CompareText::Better, Tone::Good),
                Verdict::Worse => (CompareText::Worse, Tone::Bad),
                Verdict::Same => (CompareText::Same, Tone::Good),
                Verdict::Unknown => (CompareText::Unknown, verdict_word(verdict).1),
                Verdict::NotComparable => (CompareText::NotComparable, Tone::Caution),
            };
            Judgement::new(word.text(lang), tone, form.with(lang, &values))
        };
        let whole = (ladder.verdict).map(|it| said(it, CompareText::SloMetUpTo));
        let each = (ladder.verdict_per_card).filter(|it| ladder.verdict != Some(*it));
        let each = each.map(|it| said(it, CompareText::SloMetUpToPerCard));
        whole.into_iter().chain(each)
    })
    .collect()
}
