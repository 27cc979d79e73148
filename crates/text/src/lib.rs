//! Texts: the languages that reports speak, texts with both languages side by side, and text
//! that came from strangers, made safe to show.
//!
//! A topic is an enum made by [`texts!`]. The compiler lists what a new text or a new language
//! still lacks, and refuses a text that was left in English or lost a `{name}`.

mod complete;
pub mod hostile;
pub mod punctuation;
pub mod secret;
pub mod user_file;

pub use complete::fault;

#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    #[default]
    En,
    Zh,
}

/// A text of any topic.
pub trait Text: Copy {
    /// The text in a language.
    fn text(self, lang: Lang) -> &'static str;
}

/// Texts of one topic: an enum whose every value has its words in every language.
///
/// ```
/// inferometer_text::texts! {
///     /// What a menu says.
///     pub enum Menu {
///         /// Bread.
///         Bread => "bread", "面包";
///     }
/// }
/// use inferometer_text::Lang;
/// assert_eq!(Menu::Bread.text(Lang::Zh), "面包");
/// ```
///
/// A text that lacks its Chinese does not compile, nor does one whose `{name}`s differ:
///
/// ```compile_fail
/// inferometer_text::texts! {
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
            pub const ALL: &'static [$type] = &[$($type::$variant),+];

            /// The text in a language.
            pub fn text(self, lang: $crate::Lang) -> &'static str {
                match (self, lang) {
                    $(
                        ($type::$variant, $crate::Lang::En) => $en,
                        ($type::$variant, $crate::Lang::Zh) => $zh,
                    )+
                }
            }

            /// The text with values in the places of its `{name}`s.
            pub fn with(self, lang: $crate::Lang, values: &[(&str, String)]) -> String {
                $crate::fill(self.text(lang), values)
            }
        }

        impl $crate::Text for $type {
            fn text(self, lang: $crate::Lang) -> &'static str {
                $type::text(self, lang)
            }
        }

        $(const _: () = if let Some(fault) = $crate::fault($en, $zh) {
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
