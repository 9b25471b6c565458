//! `Stripe-Signature`: HMAC-SHA256 over `timestamp.body` (Stripe: Check the webhook signatures), with the raw bytes.

use std::fmt;

use ring::hmac;
use secrecy::{ExposeSecret, SecretString};

/// A signature older than this is refused: it could be a recording. Seconds. One from the future is accepted, as
/// Stripe's own libraries do: it only says that our clock is behind.
pub const TOLERANCE: i64 = 300;

/// Why a delivery was refused. The text is one line that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Refused {
    /// There is no secret to check with.
    NoSecret,
    /// There is no header.
    Missing,
    /// The header cannot be read.
    Malformed,
    /// No signature matches any of our secrets.
    Wrong,
    /// It is too old. Seconds.
    Old(i64),
}

impl Refused {
    /// A short word to count by.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoSecret => "no secret",
            Self::Missing => "unsigned",
            Self::Malformed => "malformed signature",
            Self::Wrong => "bad signature",
            Self::Old(_) => "stale signature",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSecret => f.write_str("no signing secret is set: give the whsec_… that `stripe listen` prints"),
            Self::Missing => f.write_str("unsigned: there is no Stripe-Signature header"),
            Self::Malformed => f.write_str("the Stripe-Signature header is malformed: it needs t=… and v1=…"),
            Self::Wrong => f.write_str("bad signature: it was made with another secret, or the body was changed"),
            Self::Old(age) => write!(f, "stale signature: {age} s old (at most {TOLERANCE}); check the clock"),
        }
    }
}

/// One signing secret, ready to check with.
pub struct Secret(hmac::Key);

impl Secret {
    /// The whole text (`whsec_…`) is the key. `Err` says why it cannot be one.
    pub fn new(text: &SecretString) -> Result<Self, &'static str> {
        let key = text.expose_secret().trim();
        if key.is_empty() {
            return Err("the signing secret is empty");
        }
        if !key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err("the signing secret has characters that no secret has: copy it again");
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes())))
    }

    /// The header for a body sent now. `timestamp` is unix seconds.
    pub fn sign(&self, timestamp: i64, body: &[u8]) -> String {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(format!("{timestamp}.").as_bytes());
        context.update(body);
        let mut header = format!("t={timestamp},v1=");
        for byte in context.sign().as_ref() {
            header.push_str(&format!("{byte:02x}"));
        }
        header
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Checks a delivery against every secret (several during a rotation), in constant time. `now` is unix seconds.
pub fn verify(secrets: &[Secret], header: Option<&str>, body: &[u8], now: i64) -> Result<(), Refused> {
    if secrets.is_empty() {
        return Err(Refused::NoSecret);
    }
    let header = header.ok_or(Refused::Missing)?;
    let (timestamp, signatures) = read(header).ok_or(Refused::Malformed)?;
    let signed = [timestamp.as_bytes(), b".", body].concat();
    let matches = |secret: &Secret| signatures.iter().any(|s| hmac::verify(&secret.0, &signed, s).is_ok());
    if !secrets.iter().any(matches) {
        return Err(Refused::Wrong);
    }
    let age = timestamp.parse::<i64>().map_err(|_| Refused::Malformed).map(|t| now.saturating_sub(t))?;
    if age > TOLERANCE { Err(Refused::Old(age)) } else { Ok(()) }
}

/// The timestamp as it was signed, and every `v1` that is hex. Other schemes and odd items are passed over.
fn read(header: &str) -> Option<(&str, Vec<Vec<u8>>)> {
    let (mut timestamp, mut signatures) = (None, Vec::new());
    for item in header.split(',') {
        match item.trim().split_once('=') {
            Some(("t", value)) if timestamp.is_some_and(|t| t != value) => return None,
            Some(("t", value)) => timestamp = Some(value),
            Some(("v1", value)) => signatures.extend(hex(value)),
            _ => {}
        }
    }
    let timestamp = timestamp.filter(|t| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit()))?;
    (!signatures.is_empty()).then_some((timestamp, signatures))
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok().filter(|_| pair.len() == 2)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(&SecretString::from(text.to_owned())).unwrap()
    }

    #[test]
    fn a_known_answer() {
        // Computed with `printf '%s' '1700000000.{"id":"evt_k"}' | openssl dgst -sha256 -hmac whsec_known`.
        let want = "15ccbaa4236c6afc17483c232acc13fde97b98070a9a54a7ec4fc89b164b2058";
        assert_eq!(secret("whsec_known").sign(1_700_000_000, br#"{"id":"evt_k"}"#), format!("t=1700000000,v1={want}"));
    }

    #[test]
    fn what_is_accepted_and_what_is_refused() {
        let (ours, old, body) = ([secret("whsec_a")], secret("whsec_old"), b"{\"id\":\"evt_1\"}\r\n\n".as_slice());
        let check = |header: &str, now| verify(&ours, Some(header), body, now);
        let good = ours[0].sign(1_000, body);
        assert_eq!(check(&good, 1_000), Ok(()));
        assert_eq!(check(&good, 1_300), Ok(()));
        assert_eq!(check(&good, 1_301), Err(Refused::Old(301)));
        assert_eq!(check(&good, 0), Ok(()), "a clock behind Stripe's");
        assert_eq!(verify(&ours, Some(&good), b"{\"id\":\"evt_2\"}", 1_000), Err(Refused::Wrong));
        assert_eq!(verify(&ours, None, body, 1_000), Err(Refused::Missing));
        assert_eq!(verify(&[], Some(&good), body, 1_000), Err(Refused::NoSecret));
        let (_, hex) = good.split_once(",v1=").unwrap();
        assert_eq!(check(&format!("t=1000, v1={hex}"), 1_000), Ok(()), "blanks");
        assert_eq!(check(&format!("junk,v0=ab,t=1000,v1=00,v1={hex}"), 1_000), Ok(()), "other schemes, several v1");
        assert_eq!(check(&old.sign(1_000, body), 1_000), Err(Refused::Wrong));
        assert_eq!(
            verify(&[secret("whsec_a"), old], Some(&secret("whsec_old").sign(1_000, body)), body, 1_000),
            Ok(())
        );
        for bad in
            ["", "t=1000", "v1=00", "t=,v1=00", "t=x,v1=00", "t=1000,v1=zz", "t=1000,v1=0", "t=1000,t=2000,v1=00"]
        {
            assert_eq!(check(bad, 1_000), Err(Refused::Malformed), "{bad:?}");
        }
        assert_eq!(check("t=99999999999999999999,v1=00", 1_000), Err(Refused::Wrong));
    }
}
