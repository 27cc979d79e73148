//! The message catalogue: every text that a report shows, by key and language.
//!
//! A topic is an enum made by [`texts!`](inferometer_text::texts), with both languages side by
//! side. The words of doubts stand beside the doubts (`analysis::judge::texts`,
//! `import::doubt_texts`).

mod capacity;
mod compare;
mod data;
mod doctor;
mod failure;
mod figures;
mod findings;
mod glossary;
mod history;
mod import;
mod meanings;
mod metric;
pub mod notes;
mod numbers;
mod page;
mod plan;
mod progress;
mod runs;
pub mod server;
mod setup;
mod site;
mod store;
mod study;
mod sweep;
mod verdict;
mod watch;

pub use capacity::CapacityText;
pub use compare::{CompareText, ComparedMetric};
pub use data::DataText;
pub use doctor::DoctorText;
pub use failure::FailureText;
pub use figures::FigureText;
pub use findings::FindingText;
pub use glossary::GlossaryText;
pub use history::HistoryText;
pub use import::ImportText;
pub use meanings::DoubtMeaning;
pub use metric::{DefinitionText, MetricText};
pub use notes::NoteText;
pub use numbers::NumbersText;
pub use page::PageText;
pub use plan::PlanText;
pub use progress::ProgressText;
pub use runs::RunsText;
pub use server::ServerText;
pub use setup::SetupText;
pub use site::{LiveText, SiteText, StartText, TerminalText};
pub use store::StoreText;
pub use study::StudyText;
pub use sweep::SweepText;
pub use verdict::VerdictText;
pub use watch::WatchText;
