//! The message catalogue: every text that a report shows, by key and language.
//!
//! A topic is an enum made by [`texts!`](crate::texts), with both languages side by side; doubts,
//! whose sentences are built from what was seen, have a file for each language. The compiler
//! lists what a new text or a new language still lacks, and refuses a text that was left in
//! English or lost a `{name}`.

pub mod capacity;
pub mod compare;
mod complete;
pub mod data;
pub mod doctor;
pub mod doubt_meanings;
pub mod doubts;
pub mod figures;
pub mod findings;
pub mod glossary;
pub mod import;
pub mod import_assumptions;
pub mod import_doubts;
pub mod metric;
pub mod notes;
pub mod numbers;
pub mod page;
pub mod plan;
pub mod progress;
pub mod punctuation;
pub mod runs;
pub mod server;
pub mod setup;
pub mod site;
pub mod study;
pub mod sweep;
pub mod verdict;
pub mod why_not;

pub use complete::fault;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    #[default]
    En,
    Zh,
}

crate::record::words!(Lang { En => "en", Zh => "zh" });

/// A text of any topic.
pub trait Text: Copy {
    /// The text in a language.
    fn text(self, lang: Lang) -> &'static str;
}

/// Texts of one topic: an enum whose every value has its words in every language.
///
/// ```
/// inferometer_core::texts! {
///     /// What a menu says.
///     pub enum Menu {
///         /// Bread.
///         Bread => "bread", "面包";
///     }
/// }
/// use inferometer_core::message::Lang;
/// assert_eq!(Menu::Bread.text(Lang::Zh), "面包");
/// ```
///
/// A text that lacks its Chinese does not compile, nor does one whose `{name}`s differ:
///
/// ```compile_fail
/// inferometer_core::texts! {
///     /// What a menu says.
///     pub enum Menu {
///         /// Bread.
///         Bread => "bread", "bread";
///     }
/// }
/// ```
#[macro_export]
macro_rules! texts {
    ($(#[$meta:meta])* pub enum $type:ident {
        $($(#[$about:meta])* $variant:ident => $en:literal, $zh:literal;)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type { $($(#[$about])* $variant),+ }

        impl $type {
            /// Every text.
            pub const ALL: &'static [$type] = &[$($type::$variant),+];

            /// The text in a language.
            pub fn text(self, lang: $crate::message::Lang) -> &'static str {
                match (self, lang) {
                    $(
                        ($type::$variant, $crate::message::Lang::En) => $en,
                        ($type::$variant, $crate::message::Lang::Zh) => $zh,
                    )+
                }
            }

            /// The text with values in the places of its `{name}`s.
            pub fn with(self, lang: $crate::message::Lang, values: &[(&str, String)]) -> String {
                $crate::message::fill(self.text(lang), values)
            }
        }

        impl $crate::message::Text for $type {
            fn text(self, lang: $crate::message::Lang) -> &'static str {
                $type::text(self, lang)
            }
        }

        $(const _: () = if let Some(fault) = $crate::message::fault($en, $zh) {
            panic!("{}", fault)
        };)+
    };
}

/// Puts values into a template: `{name}` becomes the value of `name`.
pub fn fill(template: &str, values: &[(&str, String)]) -> String {
    values
        .iter()
        .fold(template.to_owned(), |text, (name, value)| {
            text.replace(&format!("{{{name}}}"), value)
        })
}
