//! The places of all numbers that a stored form can hold, read off its type: serde asks a
//! deserializer for the fields of every struct, and this one answers all of them.

use crate::capacity::stored::TierCapacity;
use inferometer_core::summary::Summary;
use serde::de::value::{Error, StrDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

/// Places of numbers in `summary.json`: `throughput.output_tokens_per_s`.
pub fn of_summary() -> Vec<String> {
    traced::<Summary>().0
}

/// Places of numbers in `capacity.json`: its answer, and the run that confirmed it.
pub fn of_capacity() -> Vec<String> {
    let confirmed = of_summary().into_iter();
    let confirmed = confirmed.map(|path| format!("confirmed.{path}"));
    let answer = traced::<TierCapacity>().0.into_iter();
    let own = answer.chain(["requests_spent".to_owned()]);
    own.chain(confirmed).collect()
}

fn traced<'de, T: Deserialize<'de>>() -> (Vec<String>, Result<T, Error>) {
    let mut found = Vec::new();
    let made = T::deserialize(Tracer {
        path: String::new(),
        found: &mut found,
    });
    (found, made)
}

/// Makes any value, and notes where a number belongs.
struct Tracer<'a> {
    path: String,
    found: &'a mut Vec<String>,
}

macro_rules! numbers {
    ($($method:ident $visit:ident $zero:expr;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.found.push(self.path);
            visitor.$visit($zero)
        })*
    };
}

impl<'de> Deserializer<'de> for Tracer<'_> {
    type Error = Error;

    numbers! {
        deserialize_i8 visit_i8 0;
        deserialize_i16 visit_i16 0;
        deserialize_i32 visit_i32 0;
        deserialize_i64 visit_i64 0;
        deserialize_u8 visit_u8 0;
        deserialize_u16 visit_u16 0;
        deserialize_u32 visit_u32 0;
        deserialize_u64 visit_u64 0;
        deserialize_f32 visit_f32 0.0;
        deserialize_f64 visit_f64 0.0;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(false)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str("")
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str("")
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Same(0))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(Same(length))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_struct("", &[], visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(Fields {
            left: fields.iter(),
            next: "",
            path: self.path,
            found: self.found,
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(First(variants.first().copied().unwrap_or_default()))
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple_struct identifier ignored_any
    }
}

struct Fields<'a> {
    left: std::slice::Iter<'static, &'static str>,
    next: &'static str,
    path: String,
    found: &'a mut Vec<String>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some(name) = self.left.next() else {
            return Ok(None);
        };
        self.next = name;
        let name: StrDeserializer<'_, Error> = (*name).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let path = if self.path.is_empty() {
            self.next.to_owned()
        } else {
            format!("{}.{}", self.path, self.next)
        };
        seed.deserialize(Tracer {
            path,
            found: self.found,
        })
    }
}

/// So many elements, whose places have no name.
struct Same(usize);

impl<'de> SeqAccess<'de> for Same {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        if self.0 == 0 {
            return Ok(None);
        }
        self.0 -= 1;
        let unnamed = Tracer {
            path: String::new(),
            found: &mut Vec::new(),
        };
        seed.deserialize(unnamed).map(Some)
    }
}

/// The first variant of an enum; one with fields is not made.
struct First(&'static str);

impl<'de> EnumAccess<'de> for First {
    type Error = Error;
    type Variant = Bare;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Bare), Error> {
        let name: StrDeserializer<'_, Error> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, Bare))
    }
}

struct Bare;

impl Bare {
    fn refuse<T>() -> Result<T, Error> {
        Err(serde::de::Error::custom("a variant with fields"))
    }
}

impl<'de> VariantAccess<'de> for Bare {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _seed: S) -> Result<S::Value, Error> {
        Bare::refuse()
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Error> {
        Bare::refuse()
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        Bare::refuse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_summary_has_its_place() {
        // A type that cannot be made would hide whatever comes after it.
        traced::<Summary>().1.unwrap();
        traced::<TierCapacity>().1.unwrap();
        let found = of_summary();
        for path in [
            "throughput.output_tokens_per_s",
            "latency.ttft_ms.p99",
            "requests.failed",
            "slo.goodput_per_s",
            "server.kv_use.max",
            "client.cpu_share",
        ] {
            assert!(found.iter().any(|one| one == path), "{path} of {found:?}");
        }
        for no_number in ["valid", "label", "throughput", "latency.itl_is_per_token"] {
            assert!(found.iter().all(|one| one != no_number), "{no_number}");
        }
        let found = of_capacity();
        for path in ["value", "confirmed.latency.e2e_ms.mean"] {
            assert!(found.iter().any(|one| one == path), "{path}");
        }
    }
}
