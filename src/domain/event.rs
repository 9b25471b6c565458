//! The envelope: what bytes that were sent to us say, without ever failing on what no rule needs.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::object::{self, Snapshot};
use super::owner::Owner;

/// One event as the rules see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// `evt_…`, the deduplication key.
    pub id: String,
    /// Stripe's `type`.
    pub kind: String,
    /// Whose event it is. Raw text when it is not an account id (then `content` is a problem).
    pub account: String,
    /// R10. `None` when the body does not say.
    pub livemode: Option<bool>,
    /// Stripe's time, unix seconds.
    pub created: i64,
    /// Id of `data.object`; empty when there is none.
    pub object: String,
    /// What it is about.
    pub content: Content,
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A snapshot of an object that has a money rule (R7).
    Snapshot(Box<Snapshot>),
    /// No rule: stored, nothing else. The text says why.
    Ignored(String),
    /// Something that no retry can mend (R5): a person decides. The text says what.
    Problem(String),
}

/// Not an event at all: not one JSON object, or one without an id. Answered with 400.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAnEvent(pub &'static str);

impl fmt::Display for NotAnEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What the money rules need from around the object.
pub struct Context<'a> {
    /// Stripe's `type`.
    pub kind: &'a str,
    /// Whose event it is.
    pub owner: Owner,
    /// Whether the envelope's API version has `refund.*` events (2024-10-28 and later; unknown counts as new).
    pub refund_events: bool,
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    created: i64,
    #[serde(default)]
    livemode: Option<bool>,
    #[serde(default)]
    account: Option<String>,
    #[serde(default, borrow)]
    api_version: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    object: &'a RawValue,
}

/// Reads a body. Bytes that are not clean JSON (a byte order mark, bad UTF-8, half a surrogate pair) are mended for
/// reading only; what is stored stays as it was signed.
pub fn parse(body: &[u8]) -> Result<Event, NotAnEvent> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let text = match std::str::from_utf8(body) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(body),
    };
    if let Ok(wire) = serde_json::from_str::<Wire<'_>>(&text) {
        let event = from_wire(&wire);
        if !matches!(event.content, Content::Problem(_)) {
            return Ok(event);
        }
    }
    let text = mend_surrogates(&text);
    match serde_json::from_str::<Wire<'_>>(&text) {
        Ok(wire) => Ok(from_wire(&wire)),
        Err(error) => damaged(&text, &error),
    }
}

fn from_wire(wire: &Wire<'_>) -> Event {
    let (object, content) = read_object(wire);
    Event {
        id: wire.id.clone().into_owned(),
        kind: wire.kind.clone().into_owned(),
        account: wire.account.clone().unwrap_or_else(|| super::owner::PLATFORM.to_owned()),
        livemode: wire.livemode,
        created: wire.created,
        object,
        content: if unreadable(&wire.id) {
            Content::Problem("the event id is not readable text".to_owned())
        } else {
            content
        },
    }
}

fn read_object(wire: &Wire<'_>) -> (String, Content) {
    let owner = match Owner::from_account(wire.account.as_deref()) {
        Ok(owner) => owner,
        Err(problem) => return (object::id_of(wire.data.object), Content::Problem(problem)),
    };
    let version = wire.api_version.and_then(object::text);
    let refund_events = version.is_none_or(|v| v.get(..10).is_none_or(|date| date >= "2024-10-28"));
    let context = Context { kind: &wire.kind, owner, refund_events };
    match object::read(&context, wire.data.object) {
        object::Read::Snapshot(snapshot) if unreadable(&snapshot.object) => {
            (snapshot.object, Content::Problem("the object id is not readable text".to_owned()))
        }
        object::Read::Snapshot(snapshot) => (snapshot.object.clone(), Content::Snapshot(snapshot)),
        object::Read::Ignored(id, reason) => (id, Content::Ignored(reason)),
        object::Read::Problem(id, reason) => (id, Content::Problem(reason)),
    }
}

fn unreadable(id: &str) -> bool {
    id.contains('\u{fffd}') || id.chars().any(char::is_control)
}

/// Half a surrogate pair cannot become text: its escape is replaced by U+FFFD's, everything else stays.
pub(super) fn mend_surrogates(text: &str) -> Cow<'_, str> {
    let unit = |at: usize| -> Option<u16> {
        let escape = text.get(at..at + 6)?;
        u16::from_str_radix(escape.strip_prefix("\\u")?, 16).ok()
    };
    let bytes = text.as_bytes();
    let mut mended = String::new();
    let (mut kept, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => {
                mended.push_str(&text[kept..at]);
                mended.push_str("\\ufffd");
                at += 6;
                kept = at;
            }
            _ => at += 2,
        }
    }
    if mended.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(mended + text.get(kept..).unwrap_or_default()) }
}

/// A body that is one JSON object but no clean event: keep what can be kept, say what is wrong.
fn damaged(text: &str, error: &serde_json::Error) -> Result<Event, NotAnEvent> {
    let top: Top = serde_json::from_str(text).map_err(|e| {
        NotAnEvent(match e.classify() {
            serde_json::error::Category::Eof => "the body ends before its JSON does",
            _ => "the body is not one JSON object",
        })
    })?;
    let id = top.id.filter(|id| !id.is_empty()).ok_or(NotAnEvent("the body has no event id"))?;
    let content = if let Some(key) = top.duplicate {
        Content::Problem(format!("duplicate key {key:?}: two readers could see two different events"))
    } else if top.thin {
        Content::Ignored("thin event: it carries no snapshot".to_owned())
    } else {
        Content::Problem(format!("unreadable event: {}", without_position(error)))
    };
    Ok(Event {
        content: if unreadable(&id) {
            Content::Problem("the event id is not readable text".to_owned())
        } else {
            content
        },
        id,
        kind: top.kind.unwrap_or_default(),
        // A thin event names its account as its context (Stripe: Event destinations).
        account: top.account.or(top.context.filter(|_| top.thin)).unwrap_or_else(|| super::owner::PLATFORM.to_owned()),
        livemode: top.livemode,
        created: top.created.unwrap_or(0),
        object: top.object,
    })
}

/// serde's message without its line and column, which mean nothing to a person.
pub(super) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// The top level of any JSON object, each member optional and of any type.
#[derive(Default)]
struct Top {
    id: Option<String>,
    kind: Option<String>,
    account: Option<String>,
    context: Option<String>,
    livemode: Option<bool>,
    created: Option<i64>,
    object: String,
    thin: bool,
    duplicate: Option<String>,
}

impl<'de> Deserialize<'de> for Top {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Top;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Top, A::Error> {
                let mut top = Top::default();
                let mut seen = Vec::new();
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    let value: &RawValue = map.next_value()?;
                    if seen.contains(&key) {
                        top.duplicate.get_or_insert_with(|| key.clone().into_owned());
                    } else {
                        top.take(&key, value);
                        seen.push(key);
                    }
                }
                Ok(top)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl Top {
    fn take(&mut self, key: &str, value: &RawValue) {
        match key {
            "id" => self.id = serde_json::from_str(value.get()).ok(),
            "type" => self.kind = object::text(value),
            "account" => self.account = object::text(value),
            "context" => self.context = object::text(value),
            "livemode" => self.livemode = serde_json::from_str(value.get()).ok(),
            "created" => self.created = seconds(value),
            "object" => self.thin = object::text(value).as_deref() == Some("v2.core.event"),
            "related_object" => self.object = object::id_of(value),
            "data" => {
                #[derive(Deserialize)]
                struct Inner<'a> {
                    #[serde(borrow)]
                    object: &'a RawValue,
                }
                if let Ok(inner) = serde_json::from_str::<Inner<'_>>(value.get()) {
                    self.object = object::id_of(inner.object);
                }
            }
            _ => {}
        }
    }
}

/// `created`: unix seconds, or RFC 3339 as thin events write it.
fn seconds(value: &RawValue) -> Option<i64> {
    if let Ok(n) = serde_json::from_str(value.get()) {
        return Some(n);
    }
    let text: String = serde_json::from_str(value.get()).ok()?;
    chrono::DateTime::parse_from_rfc3339(&text).ok().map(|t| t.timestamp())
}

/// An amount in minor units, with an error that a person understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Minor(pub i64);

impl<'de> Deserialize<'de> for Minor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;
        impl Visitor<'_> for Whole {
            type Value = Minor;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an amount in whole minor units")
            }

            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Minor, E> {
                n.checked_abs().map(|_| Minor(n)).ok_or_else(|| E::custom("an amount is out of range"))
            }

            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Minor, E> {
                i64::try_from(n).map(Minor).map_err(|_| E::custom("an amount is out of range"))
            }

            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Minor, E> {
                Err(E::custom("an amount is out of range or not a whole number"))
            }
        }
        deserializer.deserialize_any(Whole)
    }
}

#[cfg(test)]
mod tests;
