//! The API key: where it comes from, what its prefix says, and how text is cleaned of anything that looks like one.

use std::fmt;
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};

/// Whether a key can only do what its owner granted (Stripe: restricted keys). Those are enough for this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// `sk_…`: may do everything.
    Secret,
    /// `rk_…`: may do what was granted.
    Restricted,
}

/// A Stripe API key. Neither `Debug` nor any error shows more than its prefix.
#[derive(Clone)]
pub struct ApiKey {
    secret: SecretString,
    kind: KeyKind,
    live: bool,
}

/// The environment variable that holds the key.
pub const KEY_ENV: &str = "STRIPE_API_KEY";

impl ApiKey {
    /// Reads a key; surrounding white space is no part of it. `Err` is one line that never repeats the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (kind, live) = match text.get(..8) {
            Some("sk_test_") => (KeyKind::Secret, false),
            Some("sk_live_") => (KeyKind::Secret, true),
            Some("rk_test_") => (KeyKind::Restricted, false),
            Some("rk_live_") => (KeyKind::Restricted, true),
            _ if text.starts_with("pk_") => {
                return Err("this is a publishable key (pk_…); use a restricted key: rk_test_…".to_owned());
            }
            _ if text.starts_with("whsec_") => {
                return Err("this is a webhook secret (whsec_…), not an API key; give it as --secret".to_owned());
            }
            _ => return Err("an API key begins with rk_test_, rk_live_, sk_test_ or sk_live_".to_owned()),
        };
        if text.len() < 12 || !text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err("the API key has characters that no key has; copy it again".to_owned());
        }
        Ok(Self { secret: SecretString::from(text), kind, live })
    }

    /// The key in a file: its first line that is neither empty nor a `#` comment.
    pub fn from_file(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| format!("the API key file {} cannot be read: {e}", path.display()))?;
        let line = text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#'));
        let line = line.ok_or_else(|| format!("the API key file {} is empty", path.display()))?;
        Self::parse(line).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// The key of `--api-key-file`, else of the environment variable [`KEY_ENV`]; `None` when neither is given.
    pub fn find(file: Option<&Path>) -> Result<Option<Self>, String> {
        match (file, std::env::var(KEY_ENV)) {
            (Some(path), _) => Self::from_file(path).map(Some),
            (None, Ok(text)) if !text.trim().is_empty() => {
                Self::parse(&text).map(Some).map_err(|e| format!("{KEY_ENV}: {e}"))
            }
            (None, _) => Ok(None),
        }
    }

    /// Restricted or not.
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// Whether it is a live key.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// The word of its mode.
    pub fn mode(&self) -> &'static str {
        if self.live { "live" } else { "test" }
    }

    /// What may be shown: `rk_test_…`.
    pub fn shown(&self) -> &'static str {
        match (self.kind, self.live) {
            (KeyKind::Secret, false) => "sk_test_…",
            (KeyKind::Secret, true) => "sk_live_…",
            (KeyKind::Restricted, false) => "rk_test_…",
            (KeyKind::Restricted, true) => "rk_live_…",
        }
    }

    /// The text itself, for the one header and the one child that need it.
    pub(super) fn expose(&self) -> &str {
        self.secret.expose_secret()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({})", self.shown())
    }
}

/// Replaces everything that looks like a key or a webhook secret by its prefix: Stripe's error messages name keys.
pub fn scrub(text: &str) -> String {
    const PREFIXES: [&str; 5] = ["sk_", "rk_", "pk_", "ek_", "whsec_"];
    let in_key = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '*';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word_len = rest.find(|c| !in_key(c)).unwrap_or(rest.len());
        if word_len == 0 {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let (word, tail) = rest.split_at(word_len);
        match PREFIXES.iter().filter_map(|p| word.find(p)).min() {
            Some(at) => {
                let shown = ["test_", "live_"].iter().find_map(|m| word[at..].find(m).map(|i| at + i + m.len()));
                let shown = shown
                    .filter(|end| *end <= at + 8)
                    .unwrap_or_else(|| at + word[at..].find('_').map_or(0, |i| i + 1));
                out.push_str(&word[..shown]);
                out.push('…');
            }
            None => out.push_str(word),
        }
        rest = tail;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_says_kind_and_mode_and_nothing_more_is_shown() {
        let key = ApiKey::parse(" rk_test_abcDEF123456\n").unwrap();
        assert_eq!((key.kind(), key.is_live(), key.mode()), (KeyKind::Restricted, false, "test"));
        assert_eq!(format!("{key:?}"), "ApiKey(rk_test_…)");
        assert!(ApiKey::parse("sk_live_abcDEF123456").unwrap().is_live());
        for bad in ["", "sk_", "pk_test_abcDEF123456", "whsec_abcDEF123456", "rk_test_a b c d e", "rk_test_é23456"] {
            let error = ApiKey::parse(bad).unwrap_err();
            assert!(bad.len() < 4 || !error.contains("abcDEF"), "{error}");
        }
    }

    #[test]
    fn key_like_text_is_scrubbed() {
        for (text, clean) in [
            ("Invalid API Key provided: sk_test_****abcd", "Invalid API Key provided: sk_test_…"),
            ("'rk_live_abcdef' does not have 'rak_payout_read'", "'rk_live_…' does not have 'rak_payout_read'"),
            ("whsec_abcdef, then pk_abc.", "whsec_…, then pk_…."),
            ("new=sk_test_1;old=xsk_live_2", "new=sk_test_…;old=xsk_live_…"),
            ("nothing: é ok", "nothing: é ok"),
        ] {
            assert_eq!(scrub(text), clean);
        }
    }

    #[test]
    fn a_file_may_hold_comments() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, "# test\n\n rk_test_abcDEF123456 \n").unwrap();
        assert!(ApiKey::from_file(&path).is_ok());
        std::fs::write(&path, "# nothing\n").unwrap();
        assert!(ApiKey::from_file(&path).unwrap_err().contains("is empty"));
        assert!(ApiKey::from_file(&dir.path().join("none")).unwrap_err().contains("cannot be read"));
    }
}
