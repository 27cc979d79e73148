//! Where a run ran: the client, its host, and what the server said of itself.

use inferometer_core::environment::Environment;
use inferometer_message::PageText;
use inferometer_page::doc::{Pair, Section};
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;

pub(super) fn section(environment: &Environment, lang: Lang) -> Section {
    let say = |text: PageText| text.text(lang);
    let host = &environment.host;
    let server = &environment.server;
    let measured = [
        ("version", environment.inferometer.clone()),
        ("workers", environment.workers.to_string()),
    ];
    // What was computed in virtual time needed no client.
    let by = match environment.workers {
        0 => format!("Inferometer {}", environment.inferometer),
        _ => PageText::MeasuredBy.with(lang, &measured),
    };
    let cpu = host.cpu.as_deref().unwrap_or(say(PageText::UnknownCpu));
    let cores = [("cores", host.cores.to_string()), ("cpu", cpu.to_owned())];
    let system = [
        format!("{} {}", host.system, host.architecture),
        PageText::Cores.with(lang, &cores),
    ];
    let mut pairs = vec![
        Pair::new(say(PageText::Measured), by),
        Pair::new(
            say(PageText::Host),
            PunctuationText::Comma.join(lang, &system),
        ),
    ];
    let of_server = [
        (PageText::Engine, server.software.clone()),
        (
            PageText::Models,
            (!server.models.is_empty()).then(|| server.models.join(", ")),
        ),
        (
            PageText::Context,
            server
                .max_model_len
                .map(|count| PageText::ContextOf.with(lang, &[("count", number::count(count))])),
        ),
        (
            PageText::Refused,
            (!server.refused_fields.is_empty()).then(|| server.refused_fields.join(", ")),
        ),
    ];
    let known = of_server.into_iter();
    pairs.extend(known.filter_map(|(key, value)| Some(Pair::new(say(key), value?))));
    Section::headed(say(PageText::Environment), [pairs])
}
