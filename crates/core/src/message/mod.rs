//! The message catalogue: every text that a report shows, by key and language.
//!
//! A key is an enum value; each language is one exhaustive `match`, so the compiler lists what
//! a new text or a new language still lacks. Templates carry `{name}` for values.

pub mod compare;
pub mod doubts;
pub mod import;
pub mod labels;

/// Language of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Simplified Chinese.
    Zh,
}

crate::record::words!(Lang { En => "en", Zh => "zh" });

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
