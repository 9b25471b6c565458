//! The table as text and as JSON.

use serde_json::{Map, Value, json};

use super::{NAMES, Table, columns};

impl Table {
    /// One object: `columns`, `rows` with a verdict per column, `moments`.
    pub fn json(&self) -> Value {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                let verdicts = columns().zip(&row.verdicts).map(|(c, v)| (c.to_owned(), json!(v.as_str())));
                let acted: Vec<_> = row.acted.iter().filter_map(|n| NAMES.get(*n)).collect();
                json!({ "fault": row.fault, "verdicts": verdicts.collect::<Map<_, _>>(), "acted": acted })
            })
            .collect();
        json!({ "guards": NAMES, "columns": columns().collect::<Vec<_>>(), "rows": rows, "moments": self.moments })
    }
}

/// The table for people, at most 120 columns wide.
pub fn text(table: &Table) -> String {
    let mut out = String::from(
        "One order, paid through five guards, one of them switched off in turn. The worst of every order of steps.\n\n",
    );
    let mut line = |first: &str, cells: &[&str], last: &str| {
        out.push_str(&format!("{first:<27}"));
        cells.iter().for_each(|cell| out.push_str(&format!("{cell:<9}")));
        out.push_str(last);
        out.truncate(out.trim_end().len());
        out.push('\n');
    };
    line("FAULT", &columns().collect::<Vec<_>>(), "BY");
    for row in &table.rows {
        let cells: Vec<_> = row.verdicts.iter().map(|v| v.as_str()).collect();
        let acted: Vec<_> = row.acted.iter().map(|n| (n + 1).to_string()).collect();
        line(row.fault, &cells, &acted.join(" "));
    }
    out.push_str(
        "\n1 our record and claim  2 Stripe's record  3 versioned idempotency key  4 job id in the queue  5 event id\n",
    );
    out.push_str("no ver.: one key for ever. once: paid once in every order. 2x >24h: once within a day, twice when a day passes\n");
    out.push_str(
        "between two steps. stranded: not paid by two more presses of retry. BY: guards that acted with all on.\n",
    );
    out.push_str(&format!("{} moments looked at.\n", table.moments));
    out
}
