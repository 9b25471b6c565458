//! R6: a payout's details come from the snapshot with the greatest (state rank, created, event id).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Detail fields in the order a person reads them; the dotted one is a member of an object.
pub const FIELDS: [&str; 16] = [
    "arrival_date",
    "automatic",
    "method",
    "type",
    "destination",
    "description",
    "statement_descriptor",
    "failure_code",
    "failure_message",
    "balance_transaction",
    "failure_balance_transaction",
    "original_payout",
    "reversed_by",
    "reconciliation_status",
    "trace_id",
    "metadata",
];

/// What a snapshot says beside amount and status. Absent and null fields are left out, never "0" or "null".
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details(BTreeMap<String, String>);

impl Details {
    /// Reads what can be read; never fails.
    pub(super) fn read(raw: &RawValue) -> Self {
        serde_json::from_str(raw.get()).unwrap_or_default()
    }

    /// One field's text.
    pub fn get(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(String::as_str)
    }

    /// The day it arrives: midnight UTC, unix seconds.
    pub fn arrival_date(&self) -> Option<i64> {
        self.get("arrival_date").and_then(|t| t.parse().ok())
    }

    /// All fields in [`FIELDS`]' order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        FIELDS.into_iter().filter_map(|field| self.get(field).map(|text| (field, text)))
    }

    /// The stored form: one JSON object.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// Rebuilds a stored form; what cannot be read is empty.
    pub fn stored(json: &str) -> Self {
        Self(serde_json::from_str(json).unwrap_or_default())
    }
}

/// Takes only the members that are details: an object has many more.
impl<'de> Deserialize<'de> for Details {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Borrowed unless it has escapes.
        #[derive(Deserialize)]
        struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Details;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Details, A::Error> {
                let mut details = BTreeMap::new();
                while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
                    let Some(field) = FIELDS.into_iter().find(|field| *field == key) else {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    };
                    if let Some(text) = shown(field, map.next_value()?) {
                        details.insert(field.to_owned(), text);
                    }
                }
                Ok(Details(details))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Scalars as they are, an expanded object as its id, `trace_id` as its value, metadata as `key=value`.
fn shown(field: &str, raw: &RawValue) -> Option<String> {
    if let Some(text) = super::object::text(raw) {
        return Some(text);
    }
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get()).ok()?;
    let member = |name: &str| members.get(name).and_then(|value| super::object::text(value));
    match field {
        "metadata" => {
            let pairs: Vec<String> = members.keys().filter_map(|k| member(k).map(|v| format!("{k}={v}"))).collect();
            (!pairs.is_empty()).then(|| pairs.join(" "))
        }
        "trace_id" => member("value").or_else(|| member("status")),
        _ => member("id"),
    }
}

/// The key that orders snapshots of one object. Greater is newer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SnapshotKey {
    /// Place on the object's way.
    pub rank: i64,
    /// Stripe's seconds.
    pub created: i64,
    /// Breaks ties the same way in every order.
    pub event: String,
}

/// R6's choice between the details we have and those that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Ours are newer.
    Keep,
    /// The new ones are newer.
    Take,
    /// Same rank and second but different: ours stay by event id, marked ambiguous.
    KeepAmbiguous,
    /// The same, and the new event id wins.
    TakeAmbiguous,
}

/// Compares by (rank, created, event id). `created` has one-second resolution, so a tie is said to be one.
pub fn choose(have: (&SnapshotKey, &Details), come: (&SnapshotKey, &Details)) -> Choice {
    let tie = (have.0.rank, have.0.created) == (come.0.rank, come.0.created) && have.1 != come.1;
    match (come.0 > have.0, tie) {
        (true, true) => Choice::TakeAmbiguous,
        (true, false) => Choice::Take,
        (false, true) => Choice::KeepAmbiguous,
        (false, false) => Choice::Keep,
    }
}
