//! What became of requests that brought no answer.

use super::Values;
use super::table::DoubtText as Text;
use inferometer_core::record::{FailureClass, Phase};
use inferometer_core::summary::Accounts;
use inferometer_text::Lang;

pub(super) fn lost(accounts: &Accounts, duplicates: u64, lang: Lang) -> (Text, Values) {
    let found = accounts.ok + accounts.failed + accounts.cut + accounts.unsent;
    let twice = match duplicates {
        0 => String::new(),
        _ => Text::Duplicates.with(lang, &[("duplicates", duplicates.to_string())]),
    };
    let text = if found == accounts.planned && duplicates == 0 {
        Text::NeverSent
    } else {
        Text::Lost
    };
    let values = vec![
        ("planned", accounts.planned.to_string()),
        ("found", found.to_string()),
        ("ok", accounts.ok.to_string()),
        ("failed", accounts.failed.to_string()),
        ("cut", accounts.cut.to_string()),
        ("unsent", accounts.unsent.to_string()),
        ("twice", twice),
    ];
    (text, values)
}

pub(super) fn most_often(most: Option<(Phase, FailureClass, u64)>, lang: Lang) -> String {
    let text = most.map(|(phase, class, count)| {
        let values = [
            ("phase", phase.to_string()),
            ("class", class.to_string()),
            ("count", count.to_string()),
        ];
        Text::MostOften.with(lang, &values)
    });
    text.unwrap_or_default()
}

pub(super) fn failures_remedy(most: Option<(Phase, FailureClass, u64)>) -> Text {
    let Some((_, class, _)) = most else {
        return Text::NoneEndedRemedy;
    };
    match class {
        FailureClass::NameNotFound => Text::NameNotFoundRemedy,
        FailureClass::Refused => Text::RefusedRemedy,
        FailureClass::Disconnected | FailureClass::CutStream => Text::DisconnectedRemedy,
        FailureClass::Network => Text::NetworkRemedy,
        FailureClass::TlsFailed => Text::TlsFailedRemedy,
        FailureClass::Unauthorized => Text::UnauthorizedRemedy,
        FailureClass::NotFound => Text::NotFoundRemedy,
        FailureClass::ContextExceeded => Text::ContextExceededRemedy,
        FailureClass::RateLimited => Text::RateLimitedRemedy,
        FailureClass::BadRequest => Text::BadRequestRemedy,
        FailureClass::Redirected => Text::RedirectedRemedy,
        FailureClass::ServerError | FailureClass::InBandError => Text::ServerErrorRemedy,
        FailureClass::EmptyStream | FailureClass::BadStream => Text::BadStreamRemedy,
        FailureClass::TooLong => Text::TooLongRemedy,
        FailureClass::ConnectTimeout => Text::ConnectTimeoutRemedy,
        FailureClass::ReadTimeout => Text::ReadTimeoutRemedy,
        FailureClass::RequestTimeout => Text::RequestTimeoutRemedy,
    }
}
