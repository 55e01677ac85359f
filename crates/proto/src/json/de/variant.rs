//! Enums: a name by itself, or a name with content.

use serde::de::{Deserialize, DeserializeSeed, Deserializer as _, EnumAccess, VariantAccess, Visitor};
use serde_json::{Error, Result};

use super::{Deserializer, mismatch};

/// `"Name"`
pub(super) struct Unit<'p, 'de>(pub(super) &'p mut Deserializer<'de>);

/// What is left of `{"Name": content}` behind its bracket.
pub(super) struct WithContent<'p, 'de>(pub(super) &'p mut Deserializer<'de>);

impl<'de> EnumAccess<'de> for Unit<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        Ok((seed.deserialize(&mut *self.0)?, self))
    }
}

impl<'de> VariantAccess<'de> for Unit<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value> {
        Err(mismatch())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value> {
        Err(mismatch())
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value> {
        Err(mismatch())
    }
}

impl<'de> EnumAccess<'de> for WithContent<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        let name = seed.deserialize(&mut *self.0)?;
        if self.0.cursor.pass(b':') { Ok((name, self)) } else { Err(mismatch()) }
    }
}

impl<'de> VariantAccess<'de> for WithContent<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        Deserialize::deserialize(self.0)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value> {
        self.0.deserialize_tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.0.deserialize_struct("", fields, visitor)
    }
}
