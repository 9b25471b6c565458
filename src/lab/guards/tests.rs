//! The claims of the table, asserted.

use super::*;

fn cell(table: &Table, fault: &str, column: &str) -> Verdict {
    let row = table.rows.iter().find(|r| r.fault.contains(fault)).unwrap();
    row.verdicts[columns().position(|c| c == column).unwrap()]
}

#[test]
fn only_the_record_and_the_lookup_together_hold_at_any_distance() {
    let table = table().unwrap();
    for row in &table.rows {
        for column in ["all", "no 3", "no 4", "no 5", "1+2"] {
            assert_eq!(cell(&table, row.fault, column), Verdict::Once, "{} {column}", row.fault);
        }
        let paid_again = row.fault != "rotated key, cached error";
        assert_eq!(cell(&table, row.fault, "3 alone") >= Verdict::TwiceAfterADay, paid_again, "{}", row.fault);
        assert_eq!(cell(&table, row.fault, "none") == Verdict::Twice, paid_again, "{}", row.fault);
    }
    assert_eq!(cell(&table, "racing", "no 1"), Verdict::TwiceAfterADay);
    assert_eq!(cell(&table, "timeout", "no 2"), Verdict::TwiceAfterADay);
    assert_eq!(cell(&table, "cached error", "no ver."), Verdict::Stranded);
    let shown = text(&table);
    // How many moments there are is no promise.
    insta::assert_snapshot!(shown.rsplit_once("between").map(|(table, _)| table).unwrap_or_default());
    let json = table.json();
    assert_eq!(json["columns"].as_array().unwrap().len(), COLUMNS.len());
    assert_eq!(json["rows"][4]["verdicts"]["no ver."], "stranded");
}
