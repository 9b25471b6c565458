//! Who a balance belongs to: the platform itself or one connected account.

use std::fmt;

/// The word shown and stored for the platform's own balance.
pub const PLATFORM: &str = "platform";

/// The owner of a Stripe balance. An event without `account` is the platform's (Stripe: Connect webhooks).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(String);

impl Owner {
    /// The platform.
    pub fn platform() -> Self {
        Self(PLATFORM.to_owned())
    }

    /// The owner an event's `account` names. `Err` when the text is not an account id: it must not become a key.
    pub fn from_account(account: Option<&str>) -> Result<Self, String> {
        match account {
            None => Ok(Self::platform()),
            Some(id) => Self::connected(id),
        }
    }

    /// A connected account, `acct_…`.
    pub fn connected(id: &str) -> Result<Self, String> {
        let tail = id.strip_prefix("acct_").unwrap_or_default();
        if !tail.is_empty() && tail.len() <= 250 && tail.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            Ok(Self(id.to_owned()))
        } else {
            Err(format!("the account {id:?} is not an account id (acct_…)"))
        }
    }

    /// What a person types: `platform` or `acct_…`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == PLATFORM { Ok(Self::platform()) } else { Self::connected(text) }
    }

    /// The stored and shown form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Trusts a value that this program stored itself.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// Whether it is the platform.
    pub fn is_platform(&self) -> bool {
        self.0 == PLATFORM
    }

    /// The `Stripe-Account` header of a request on this owner's behalf: none for the platform.
    pub fn header(&self) -> Option<&str> {
        (self.0 != PLATFORM).then_some(self.0.as_str())
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_account_ids_become_owners() {
        assert_eq!(Owner::from_account(None), Ok(Owner::platform()));
        assert_eq!(Owner::from_account(Some("acct_1a")).map(|o| o.to_string()), Ok("acct_1a".to_owned()));
        for bad in ["", "platform", "acct_", "acct_\u{202e}x", "acct_a b"] {
            assert!(Owner::from_account(Some(bad)).is_err(), "{bad:?}");
        }
    }
}
