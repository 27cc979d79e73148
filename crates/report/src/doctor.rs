//! What `inferometer doctor` shows: the certificate of a client's host, and what a server
//! understands.

use inferometer_core::environment::Probe;
use inferometer_load::certificate::Certificate;
use inferometer_message::{DoctorText, SetupText, notes};
use inferometer_page::doc::{Block, Cell, Column, Doc, Pair, Section, Table, Unit};
use inferometer_page::number;
use inferometer_text::Lang;

pub fn certificate(certificate: &Certificate, kept: Option<&str>, lang: Lang) -> Doc {
    let cpu = certificate.cpu.as_deref().unwrap_or(number::ABSENT);
    let host = [
        ("cores", certificate.cores.to_string()),
        ("cpu", cpu.to_owned()),
    ];
    let whole = |rate| number::grouped(rate, 0);
    let ceiling = [
        ("one", whole(certificate.ceiling_tokens_per_s)),
        ("batched", whole(certificate.ceiling_batched_tokens_per_s)),
    ];
    let pair = |name: DoctorText, value: String| Pair::new(name.text(lang), value);
    let mut pairs = vec![
        pair(DoctorText::Host, DoctorText::HostIs.with(lang, &host)),
        pair(
            DoctorText::Ceiling,
            DoctorText::CeilingIs.with(lang, &ceiling),
        ),
    ];
    if let Some(path) = kept {
        let kept = DoctorText::KeptFor.with(lang, &[("path", path.to_owned())]);
        pairs.push(pair(DoctorText::Kept, kept));
    }
    let titles = [
        DoctorText::Streams.text(lang),
        DoctorText::TokenEvents.text(lang),
        DoctorText::MeanMicros.text(lang),
        "p50 µs",
        "p99 µs",
        DoctorText::MaxMicros.text(lang),
    ];
    let rows = certificate.errors.iter().map(|error| {
        let plain = |value: f64| Cell::number(Some(value), Unit::Count, 0);
        vec![
            Cell::count(u64::from(error.streams)),
            plain(error.tokens_per_s),
            plain(error.mean_us),
            plain(error.p50_us),
            plain(error.p99_us),
            plain(error.max_us),
        ]
    });
    let table = Table {
        footnotes: vec![DoctorText::StampErrorsMean.text(lang).to_owned()],
        ..Table::new(titles.map(Column::right).to_vec(), rows)
    };
    Doc {
        sections: vec![
            Section::plain([pairs]),
            Section::headed(DoctorText::StampErrors.text(lang), [table]),
        ],
    }
}

/// What the preflight learned of a server, as a document.
pub fn server(probe: &Probe, notes: &[inferometer_core::note::Note], lang: Lang) -> Doc {
    let list = |words: Vec<String>| {
        if words.is_empty() {
            DoctorText::Nothing.text(lang).to_owned()
        } else {
            words.join(", ")
        }
    };
    let understood = [
        (DoctorText::StreamUsage.text(lang), probe.stream_usage),
        (DoctorText::ChunkUsage.text(lang), probe.chunk_usage),
        ("ignore_eos", probe.ignore_eos == Some(true)),
        ("min_tokens", probe.min_tokens == Some(true)),
        (
            DoctorText::TokenIds.text(lang),
            probe.token_ids == Some(true),
        ),
        (probe.limit_field.into_str(), true),
    ];
    let understood = understood
        .iter()
        .filter(|(_, yes)| *yes)
        .map(|(name, _)| (*name).to_owned());
    let pair = |name: DoctorText, value: String| Pair::new(name.text(lang), value);
    let endpoints = probe.endpoints.join(", ");
    let mut pairs = vec![Pair::new(SetupText::Server.text(lang), endpoints)];
    let software = probe.software.clone();
    pairs.extend(software.map(|name| pair(DoctorText::Software, name)));
    pairs.extend([
        Pair::new(SetupText::Api.text(lang), probe.api.clone()),
        pair(DoctorText::ServedModels, list(probe.models.clone())),
        pair(DoctorText::Understands, list(understood.collect())),
        pair(DoctorText::Refuses, list(probe.refused_fields.clone())),
    ]);
    if let Some(count) = probe.max_model_len {
        let context =
            DoctorText::ContextIs.with(lang, &[("count", number::grouped(count as f64, 0))]);
        pairs.push(pair(DoctorText::Context, context));
    }
    let mut blocks = vec![Block::Pairs(pairs)];
    blocks.extend(
        notes
            .iter()
            .map(|note| Block::Paragraph(notes::text(note, lang))),
    );
    Doc {
        sections: vec![Section::plain(blocks)],
    }
}
