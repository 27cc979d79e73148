//! What `inferometer data` shows: a data set at a glance, and what is wrong with it.

use inferometer_message::{DataText, NumbersText};
use inferometer_page::doc::{Bar, Block, Doc, Note, Pair, Section, Tone};
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use inferometer_workload::survey::{Arrivals, Lengths, Packing, Survey};

/// Fewest lengths that are drawn as a distribution.
const LEAST_FOR_PICTURE: u64 = 10;

/// Rows that were written in another format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    pub written: u64,
    /// Rows that the other format cannot hold.
    pub left_out: u64,
    pub file: String,
}

pub fn compose(survey: &Survey, conversion: Option<&Conversion>, lang: Lang) -> Doc {
    let mut sections = vec![Section::plain([facts(survey, conversion, lang)])];
    if !survey.bad_rows.is_empty() {
        sections.push(bad_rows(survey, lang));
    }
    let pictures = [
        (DataText::PromptChars, &survey.prompt_chars),
        (DataText::PromptTokens, &survey.prompt_tokens),
        (DataText::AnswerTokens, &survey.output_tokens),
        (DataText::TurnsOf, &survey.turns),
    ];
    for (label, lengths) in pictures {
        if let Some(lengths) = lengths {
            sections.push(picture(label, lengths, lang));
        }
    }
    if !survey.first_prompts.is_empty() {
        let quotes = Block::Quotes(survey.first_prompts.clone());
        sections.push(Section::headed(DataText::FirstPrompts.text(lang), [quotes]));
    }
    Doc { sections }
}

/// What was converted, in a line: for where the rows themselves take the page.
pub fn in_brief(survey: &Survey, conversion: &Conversion, lang: Lang) -> String {
    let mut parts = vec![rows(survey, lang)];
    parts.extend(survey.bad_rows.first().map(|bad| {
        let line = DataText::BadLine.with(lang, &[("line", bad.line.to_string())]);
        format!("{line}: {}", bad.reason)
    }));
    parts.push(written(conversion, lang));
    PunctuationText::Semicolon.join(lang, &parts)
}

fn facts(survey: &Survey, conversion: Option<&Conversion>, lang: Lang) -> Vec<Pair> {
    let mut pairs = vec![
        Pair::new(DataText::Data.text(lang), survey.location.clone()),
        Pair::new(DataText::ReadAs.text(lang), recognised(survey, lang)),
        Pair::new(DataText::Rows.text(lang), rows(survey, lang)),
    ];
    if let Some(tokens) = tokens(survey, lang) {
        pairs.push(Pair::new(NumbersText::Tokens.text(lang), tokens));
    }
    if let Some(found) = &survey.arrivals {
        pairs.push(Pair::new(
            DataText::Arrivals.text(lang),
            arrivals(found, lang),
        ));
    }
    if let Some(conversion) = conversion {
        pairs.push(Pair::new(
            DataText::Written.text(lang),
            written(conversion, lang),
        ));
    }
    pairs
}

fn recognised(survey: &Survey, lang: Lang) -> String {
    let label = if survey.format_given {
        DataText::FormatGiven
    } else {
        DataText::FormatFound
    };
    let mut parts = vec![label.with(lang, &[("format", survey.format.to_string())])];
    if survey.packing != Packing::Plain {
        let packing = [("packing", survey.packing.to_string())];
        parts.push(DataText::PackedWith.with(lang, &packing));
    }
    PunctuationText::Comma.join(lang, &parts)
}

fn rows(survey: &Survey, lang: Lang) -> String {
    let rows = survey.rows;
    let mut parts = vec![DataText::RowsUsable.with(
        lang,
        &[
            ("usable", number::count(rows.usable)),
            ("seen", number::count(rows.seen)),
        ],
    )];
    let others = [
        (DataText::RowsBad, rows.bad),
        (DataText::RowsUnusable, rows.unusable),
        (DataText::RowsTooShort, rows.too_short),
        (DataText::RowsTooLong, rows.too_long),
        (DataText::RowsByFilter, rows.by_filter),
    ];
    let others = others.into_iter().filter(|(_, count)| *count > 0);
    parts.extend(others.map(|(label, count)| label.with(lang, &[("count", number::count(count))])));
    if survey.partial {
        parts.push(DataText::RowsLimited.text(lang).to_owned());
    }
    PunctuationText::Comma.join(lang, &parts)
}

fn tokens(survey: &Survey, lang: Lang) -> Option<String> {
    let label = if survey.tokenizer_given {
        DataText::TokensBy
    } else {
        DataText::TokensByDefault
    };
    let tokenizer = survey.tokenizer.clone()?;
    let mut parts = Vec::new();
    if let (Some(chars), Some(tokens)) = (&survey.prompt_chars, &survey.prompt_tokens)
        && tokens.mean > 0.0
    {
        let mean = number::brief(chars.mean / tokens.mean);
        parts.push(NumbersText::CharsPerToken.with(lang, &[("mean", mean)]));
    }
    parts.push(label.with(lang, &[("tokenizer", tokenizer)]));
    Some(PunctuationText::Comma.join(lang, &parts))
}

fn arrivals(found: &Arrivals, lang: Lang) -> String {
    let Some(rate) = found.per_s else {
        return DataText::ArrivalsAtOnce.text(lang).to_owned();
    };
    let values = [
        ("time", number::seconds(found.span_s)),
        ("rate", number::brief(rate)),
    ];
    let mut parts = vec![DataText::ArrivalsOf.with(lang, &values)];
    parts.extend(found.gap_variation.map(|variation| {
        let variation = number::brief(variation);
        DataText::GapsVary.with(lang, &[("variation", variation)])
    }));
    PunctuationText::Comma.join(lang, &parts)
}

fn written(conversion: &Conversion, lang: Lang) -> String {
    let values = [
        ("count", number::count(conversion.written)),
        ("file", conversion.file.clone()),
    ];
    let mut parts = vec![DataText::WrittenTo.with(lang, &values)];
    if conversion.left_out > 0 {
        let count = number::count(conversion.left_out);
        parts.push(DataText::WrittenNot.with(lang, &[("count", count)]));
    }
    PunctuationText::Comma.join(lang, &parts)
}

fn picture(label: DataText, lengths: &Lengths, lang: Lang) -> Section {
    let values = [
        ("mean", number::mean(lengths.mean)),
        ("p50", number::mean(lengths.p50)),
        ("p90", number::mean(lengths.p90)),
        ("p99", number::mean(lengths.p99)),
        ("min", number::count(lengths.min)),
        ("max", number::count(lengths.max)),
    ];
    if lengths.min == lengths.max {
        let values = [
            ("count", number::count(lengths.n)),
            ("length", number::count(lengths.min)),
        ];
        let all = Block::Paragraph(DataText::LengthAll.with(lang, &values));
        return Section::headed(label.text(lang), [all]);
    }
    let mut blocks = vec![Block::Paragraph(DataText::LengthsOf.with(lang, &values))];
    if lengths.n >= LEAST_FOR_PICTURE {
        let bars = lengths.bins.iter().map(|bin| Bar {
            from: bin.from,
            to: bin.to,
            count: bin.count,
        });
        blocks.push(Block::Histogram(bars.collect()));
    }
    Section::headed(label.text(lang), blocks)
}

fn bad_rows(survey: &Survey, lang: Lang) -> Section {
    let notes = survey.bad_rows.iter().map(|bad| Note {
        tag: DataText::BadLine.with(lang, &[("line", bad.line.to_string())]),
        tone: Tone::Bad,
        subject: bad.reason.clone(),
        text: String::new(),
        follow: None,
    });
    let mut blocks = vec![Block::Notes(notes.collect())];
    let more = survey.rows.bad.saturating_sub(survey.bad_rows.len() as u64);
    if more > 0 {
        let more = DataText::MoreBadRows.with(lang, &[("count", number::count(more))]);
        blocks.push(Block::Paragraph(more));
    }
    blocks.push(Block::Paragraph(
        DataText::BadRowsRemedy.text(lang).to_owned(),
    ));
    Section::headed(DataText::BadRows.text(lang), blocks)
}
