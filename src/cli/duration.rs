//! Durations on the command line: `200ms`, `5s`, `2m`, `3h`, `1d`.

use std::time::Duration;

/// Reads one. The error says how to write it.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a duration: write 200ms, 5s, 2m, 3h or 1d");
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(milliseconds).map(Duration::from_millis).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_write_them() {
        for (text, ms) in [("200ms", 200), ("5s", 5_000), ("2m", 120_000), ("3h", 10_800_000), ("0s", 0)] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for bad in ["", "5", "s", "-1s", "1.5s", "5 s", "99999999999999999999s", "5w"] {
            assert!(parse(bad).unwrap_err().contains("200ms"), "{bad:?}");
        }
    }
}
