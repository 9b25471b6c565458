//! Orders from a file: CSV with a heading, or JSON lines. The first thing wrong refuses the whole file.

use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::cli::failure::Failure;
use crate::domain::transfer::order::{Draft, Order};

/// A line as it stands in the file; an unknown field is an error, for a misspelt one would be silently ignored.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    order: Value,
    amount: Value,
    currency: String,
    destination: String,
    #[serde(default)]
    source_transaction: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

impl Line {
    fn check(self) -> Result<Order, String> {
        let text = |value: Value| match value {
            Value::String(text) => text,
            // A float's text has a point and is refused where the amount is read.
            other => other.to_string(),
        };
        Draft {
            order_ref: text(self.order),
            amount: text(self.amount),
            currency: self.currency,
            destination: self.destination,
            source_transaction: self.source_transaction,
            description: self.description,
        }
        .check()
    }
}

/// Every order with its line number.
pub(super) fn orders(path: &Path) -> Result<Vec<(u64, Order)>, Failure> {
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text))
    };
    read.map_err(|e| Failure::Usage(format!("cannot read {}: {e}", path.display())))?;
    let text = text.trim_start_matches('\u{feff}');
    let parsed = if text.trim_start().starts_with('{') { json_lines(text) } else { csv(text) };
    let orders = parsed.map_err(|why| Failure::Usage(format!("{why}; nothing was imported")))?;
    if orders.is_empty() {
        return Err(Failure::Usage(format!("{} holds no orders", path.display())));
    }
    Ok(orders)
}

fn json_lines(text: &str) -> Result<Vec<(u64, Order)>, String> {
    let lines = text.lines().zip(1u64..).filter(|(line, _)| !line.trim().is_empty());
    lines
        .map(|(line, n)| {
            let parsed: Line = serde_json::from_str(line).map_err(|e| format!("line {n}: {e}"))?;
            parsed.check().map(|order| (n, order)).map_err(|why| format!("line {n}: {why}"))
        })
        .collect()
}

fn csv(text: &str) -> Result<Vec<(u64, Order)>, String> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|e| e.to_string())?.clone();
    let mut orders = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|e| e.to_string())? {
        let n = record.position().map_or(0, csv::Position::line);
        // As text: a CSV value has no type, and 0012 is an order's name, not a number.
        let fields = headers.iter().zip(&record).filter(|(_, value)| !value.is_empty());
        let object: serde_json::Map<_, _> = fields.map(|(k, v)| (k.to_owned(), Value::from(v))).collect();
        let parsed: Line = serde_json::from_value(Value::Object(object)).map_err(|e| format!("line {n}: {e}"))?;
        orders.push((n, parsed.check().map_err(|why| format!("line {n}: {why}"))?));
    }
    Ok(orders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_read_the_same_and_errors_name_the_line() {
        let by_csv = csv("order,amount,currency,destination,description\n0012,500,eur,acct_a1,\"a, b\"\n").unwrap();
        let json = r#"{"order":"0012","amount":500,"currency":"eur","destination":"acct_a1","description":"a, b"}"#;
        let by_json = json_lines(json).unwrap();
        assert_eq!(by_csv[0].1, by_json[0].1);
        for (text, says) in [
            ("order,amount,currency,destination\na,1.5,eur,acct_a", "line 2: the amount \"1.5\""),
            ("order,amount,currency,destination\na,1,eur", "found record with 3 fields"),
            ("order,amount,curency,destination\na,1,eur,acct_a", "line 2: unknown field `curency`"),
            ("order,amount,currency,destination\na,,eur,acct_a", "line 2: missing field `amount`"),
        ] {
            let error = csv(text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        let error =
            json_lines("{\"order\":\"a\",\"amount\":1.0,\"currency\":\"eur\",\"destination\":\"acct_a\"}").unwrap_err();
        assert!(error.starts_with("line 1: the amount \"1.0\""), "{error}");
    }
}
