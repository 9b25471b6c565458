//! Currencies and amounts: i64 in Stripe's minor unit, written out without floats (Stripe: Supported currencies).

use std::fmt;

/// A three-letter lower-case currency code, as Stripe writes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    /// `[a-z]{3}`, or an error: anything else must never become a ledger key.
    pub fn parse(code: &str) -> Result<Self, String> {
        match <[u8; 3]>::try_from(code.as_bytes()) {
            Ok(bytes) if bytes.iter().all(u8::is_ascii_lowercase) => Ok(Self(bytes)),
            _ => Err(format!("the currency {code:?} is not a three-letter code in lower case")),
        }
    }

    /// The code, lower case.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("???")
    }

    /// Digits after the point in Stripe's minor unit. `isk` and `ugx` keep two although the currencies have none;
    /// every code not listed has two.
    pub fn exponent(&self) -> u32 {
        match self.as_str() {
            "bif" | "clp" | "djf" | "gnf" | "jpy" | "kmf" | "krw" | "mga" | "pyg" | "rwf" | "vnd" | "vuv" | "xaf"
            | "xof" | "xpf" => 0,
            "bhd" | "jod" | "kwd" | "omr" | "tnd" => 3,
            _ => 2,
        }
    }

    /// The amount as a person reads it, for instance `-1,250.00`; minor units in.
    pub fn amount(&self, minor: i64) -> String {
        let exponent = self.exponent();
        let scale = 10u64.pow(exponent);
        let digits = minor.unsigned_abs();
        let mut text = group_thousands(digits / scale);
        if exponent > 0 {
            text.push('.');
            text.push_str(&format!("{:0width$}", digits % scale, width = exponent as usize));
        }
        if minor < 0 { format!("-{text}") } else { text }
    }

    /// The amount with its currency, for instance `8,000 JPY`.
    pub fn money(&self, minor: i64) -> String {
        format!("{} {}", self.amount(minor), self.as_str().to_ascii_uppercase())
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Money for display when the code comes from the database as text; an unreadable code is shown as it is.
pub fn show(code: &str, minor: i64) -> String {
    match Currency::parse(code) {
        Ok(currency) => currency.money(minor),
        Err(_) => format!("{minor} {code}"),
    }
}

fn group_thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_follow_stripes_minor_units() {
        for (code, minor, text) in [
            ("usd", 125_000, "1,250.00 USD"),
            ("usd", -4_500, "-45.00 USD"),
            ("usd", -5, "-0.05 USD"),
            ("jpy", 8_000, "8,000 JPY"),
            ("krw", 1, "1 KRW"),
            ("kwd", 6_125, "6.125 KWD"),
            ("isk", 500, "5.00 ISK"),
            ("ugx", 500, "5.00 UGX"),
            ("huf", 1_045, "10.45 HUF"),
            ("usd", i64::MIN, "-92,233,720,368,547,758.08 USD"),
        ] {
            assert_eq!(Currency::parse(code).unwrap().money(minor), text);
        }
    }

    #[test]
    fn only_lower_case_codes_are_currencies() {
        for bad in ["", "us", "USD", "usdd", "u\u{1b}d", "€"] {
            assert!(Currency::parse(bad).is_err(), "{bad:?}");
        }
    }
}
