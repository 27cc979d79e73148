//! Structs that are written often, and leave out what is absent.

use crate::units::Offset;

/// A field of such a struct.
pub(crate) trait Sparse {
    /// Whether it has no key where it is written; what is read without it is absent, too.
    fn is_left_out(&self) -> bool {
        false
    }
}

impl<T> Sparse for Option<T> {
    fn is_left_out(&self) -> bool {
        self.is_none()
    }
}

impl<T> Sparse for Vec<T> {
    fn is_left_out(&self) -> bool {
        self.is_empty()
    }
}

impl Sparse for bool {
    fn is_left_out(&self) -> bool {
        !self
    }
}

impl Sparse for u32 {}
impl Sparse for u64 {}
impl Sparse for String {}
impl Sparse for Offset {}

/// Defines structs whose absent fields are left out.
macro_rules! sparse {
    ($($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$about:meta])* pub $field:ident: $type:ty,)+
    })+) => {$(
        $(#[$meta])*
        pub struct $name {$(
            $(#[$about])*
            #[serde(skip_serializing_if = "crate::sparse::Sparse::is_left_out")]
            pub $field: $type,
        )+}
    )+};
}

pub(crate) use sparse;
