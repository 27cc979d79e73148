//! What `inferometer doctor` shows: the certificate of a client's host, and what a server
//! understands.

use crate::doc::{Block, Cell, Column, Doc, Pair, Section, Table, Unit};
use crate::number;
use inferometer_core::certificate::Certificate;
use inferometer_core::environment::Probe;
use inferometer_core::message::labels::Label;
use inferometer_core::message::{Lang, fill};

/// The certificate as a document.
pub fn certificate(certificate: &Certificate, kept: Option<&str>, lang: Lang) -> Doc {
    let host = fill(
        Label::HostIs.text(lang),
        &[
            ("cores", certificate.cores.to_string()),
            (
                "cpu",
                certificate.cpu.clone().unwrap_or_else(|| "n/a".into()),
            ),
        ],
    );
    let ceiling = fill(
        Label::CeilingIs.text(lang),
        &[
            ("one", number::grouped(certificate.ceiling_tokens_per_s, 0)),
            (
                "batched",
                number::grouped(certificate.ceiling_batched_tokens_per_s, 0),
            ),
        ],
    );
    let mut pairs = vec![
        Pair::new(Label::Host.text(lang), host),
        Pair::new(Label::Ceiling.text(lang), ceiling),
    ];
    if let Some(path) = kept {
        let kept = fill(Label::KeptFor.text(lang), &[("path", path.to_owned())]);
        pairs.push(Pair::new(Label::Kept.text(lang), kept));
    }
    let mut columns = vec![
        Column::right(Label::Streams.text(lang)),
        Column::right(Label::TokenEvents.text(lang)),
    ];
    columns.extend(["mean µs", "p50 µs", "p99 µs", "max µs"].map(Column::right));
    let rows = certificate
        .errors
        .iter()
        .map(|error| {
            let plain = |value: f64| Cell::number(Some(value), Unit::Count, 0);
            vec![
                Cell::count(u64::from(error.streams)),
                plain(error.tokens_per_s),
                plain(error.mean_us),
                plain(error.p50_us),
                plain(error.p99_us),
                plain(error.max_us),
            ]
        })
        .collect();
    let table = Table {
        columns,
        rows,
        footnotes: vec![Label::StampErrorsMean.text(lang).to_owned()],
    };
    Doc {
        sections: vec![
            Section::plain(vec![Block::Pairs(pairs)]),
            Section::headed(Label::StampErrors.text(lang), vec![Block::Table(table)]),
        ],
    }
}

/// What the preflight learned of a server, as a document.
pub fn server(probe: &Probe, notes: &[inferometer_core::note::Note], lang: Lang) -> Doc {
    let list = |words: Vec<String>| match words.is_empty() {
        true => Label::Nothing.text(lang).to_owned(),
        false => words.join(", "),
    };
    let understood = [
        ("stream usage", probe.stream_usage),
        ("usage in every chunk", probe.chunk_usage),
        ("ignore_eos", probe.ignore_eos == Some(true)),
        ("min_tokens", probe.min_tokens == Some(true)),
        ("token ids", probe.token_ids == Some(true)),
        (probe.limit_field.word(), true),
    ];
    let understood = understood
        .iter()
        .filter(|(_, yes)| *yes)
        .map(|(name, _)| (*name).to_owned());
    let mut pairs = vec![
        Pair::new(Label::Server.text(lang), probe.endpoints.join(", ")),
        Pair::new(Label::Api.text(lang), probe.api.clone()),
        Pair::new(Label::ServedModels.text(lang), list(probe.models.clone())),
        Pair::new(Label::Understands.text(lang), list(understood.collect())),
        Pair::new(
            Label::Refuses.text(lang),
            list(probe.refused_fields.clone()),
        ),
    ];
    if let Some(count) = probe.max_model_len {
        let context = fill(
            Label::ContextIs.text(lang),
            &[("count", number::grouped(count as f64, 0))],
        );
        pairs.push(Pair::new(Label::Context.text(lang), context));
    }
    let mut blocks = vec![Block::Pairs(pairs)];
    blocks.extend(notes.iter().map(|note| Block::Paragraph(note.text(lang))));
    Doc {
        sections: vec![Section::plain(blocks)],
    }
}
