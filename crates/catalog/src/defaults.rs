//! Settings with their defaults.

/// Defines structs, each field beside its default.
#[macro_export]
macro_rules! with_defaults {
    ($($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$about:meta])* $field_vis:vis $field:ident: $type:ty = $default:expr,)+
    })+) => {$(
        $(#[$meta])*
        $vis struct $name { $($(#[$about])* $field_vis $field: $type),+ }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default),+ }
            }
        }
    )+};
}
