//! The JSON of DuraCloud's policy files, read strictly: a key that is there twice or is unknown is an error with its line and column.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

use crate::object::Object;

/// `ACCOUNT-duplication-policy.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct AccountPolicy {
    #[serde(default)]
    pub(crate) space_duplication_store_policies: Pairs<Vec<Object<StorePolicy>>>,
    #[serde(default)]
    pub(crate) default_policies: Vec<Object<StorePolicy>>,
    #[serde(default)]
    pub(crate) spaces_to_ignore: Vec<String>,
}

/// A source and a destination.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct StorePolicy {
    pub(crate) src_store_id: StoreId,
    pub(crate) dest_store_id: StoreId,
}

/// The identifier of a store: a text, or a number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "WrittenId")]
pub(crate) struct StoreId(pub(crate) String);

#[derive(Deserialize)]
#[serde(untagged, expecting = "the identifier of a store is neither a text nor a number")]
enum WrittenId {
    Text(String),
    Number(u64),
}

impl From<WrittenId> for StoreId {
    fn from(written: WrittenId) -> Self {
        match written {
            WrittenId::Text(text) => Self(text),
            WrittenId::Number(number) => Self(number.to_string()),
        }
    }
}

/// The keys and values of an object in their order, of which no key is there twice.
#[derive(Debug)]
pub(crate) struct Pairs<V>(pub(crate) Vec<(String, V)>);

impl<V> Default for Pairs<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Pairs<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor(PhantomData))
    }
}

struct PairsVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for PairsVisitor<V> {
    type Value = Pairs<V>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<V>, A::Error> {
        let (mut pairs, mut known) = (Vec::new(), std::collections::HashSet::new());
        while let Some(key) = map.next_key::<String>()? {
            if !known.insert(key.clone()) {
                let shown: String = key.chars().take(80).collect();
                return Err(A::Error::custom(format_args!("the key {shown:?} is there twice")));
            }
            pairs.push((key, map.next_value()?));
        }
        Ok(Pairs(pairs))
    }
}
