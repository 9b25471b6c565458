//! The currencies Stripe can move and the amounts it takes in each (Stripe: Supported currencies).

use crate::domain::money::Currency;

/// Every code Stripe lists, in one string so that it stays readable.
const CODES: &str = "usd aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bhd bif bmd bnd bob brl bsd bwp byn bzd \
    cad cdf chf clp cny cop crc cve czk djf dkk dop dzd egp etb eur fjd fkp gbp gel ghs gip gmd gnf gtq gyd hkd hnl hrk \
    htg huf idr ils inr isk jmd jod jpy kes kgs khr kmf krw kwd kyd kzt lak lbp lkr lrd lsl mad mdl mga mkd mmk mnt mop \
    mro mru mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd omr pab pen pgk php pkr pln pyg qar ron rsd rub rwf sar sbd \
    scr sek sgd shp sle sll sos srd std stn svc szl thb tjs tnd top try ttd twd tzs uah ugx uyu uzs vnd vuv wst xaf xcd \
    xcg xof xpf yer zar zmw";

/// The most digits Stripe takes in any currency.
const MOST: i64 = 999_999_999_999;

/// A currency Stripe knows, in either case. `Err` is one line that says what to do.
pub fn known(code: &str) -> Result<Currency, String> {
    let code = code.to_ascii_lowercase();
    let currency = Currency::parse(&code)?;
    if CODES.split(' ').any(|c| c == code) {
        Ok(currency)
    } else {
        Err(format!("the currency {code:?} is none that Stripe supports"))
    }
}

/// Whether `minor` is an amount a transfer can have in this currency. `Err` is one line that says what to do.
pub fn check_amount(currency: Currency, minor: i64) -> Result<(), String> {
    let code = currency.as_str();
    if minor <= 0 {
        return Err(format!("the amount must be greater than zero, in the smallest unit of {code}; got {minor}"));
    }
    if minor > MOST {
        return Err(format!("the amount {minor} has more than the twelve digits Stripe takes"));
    }
    match code {
        "isk" | "ugx" if minor % 100 != 0 => Err(format!(
            "{code} has no decimals but Stripe counts it in hundredths: the amount must be a multiple of 100; got {minor}"
        )),
        _ if currency.exponent() == 3 && minor % 10 != 0 => {
            Err(format!("{code} has three decimals of which Stripe takes two: the last digit must be 0; got {minor}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_follow_the_currency() {
        for (code, minor, ok) in [
            ("usd", 1, true),
            ("usd", 0, false),
            ("usd", -5, false),
            ("usd", i64::MAX, false),
            ("jpy", 7, true),
            ("isk", 500, true),
            ("isk", 550, false),
            ("ugx", 1, false),
            ("kwd", 5_120, true),
            ("kwd", 5_124, false),
            ("huf", 1_045, true),
        ] {
            assert_eq!(check_amount(known(code).unwrap(), minor).is_ok(), ok, "{code} {minor}");
        }
    }

    #[test]
    fn unknown_codes_are_named() {
        assert_eq!(known("EUR"), known("eur"));
        for bad in ["zzz", "us", "", "€uro", "xbt"] {
            assert!(known(bad).is_err(), "{bad}");
        }
    }
}
