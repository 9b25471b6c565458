//! How lists are printed: aligned on a terminal, plain in a pipe, one JSON object per line, or CSV.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::failure::Failure;

/// How to print a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns with a heading.
    Table,
    /// Tab-separated, no heading.
    Plain,
    /// One JSON object per line.
    Json,
    /// Comma-separated with a heading.
    Csv,
}

impl Format {
    /// What the options and the terminal come to.
    pub fn choose(json: bool, csv: bool) -> Self {
        match (json, csv) {
            (true, _) => Self::Json,
            (_, true) => Self::Csv,
            _ if io::stdout().is_terminal() => Self::Table,
            _ => Self::Plain,
        }
    }
}

/// A list that can be printed in every format.
pub struct List<'a, T> {
    /// Headings.
    pub columns: &'a [&'a str],
    /// Which columns are numbers, set right.
    pub right: &'a [usize],
    /// A row's cells.
    pub cells: fn(&T) -> Vec<String>,
}

impl<T: Serialize> List<'_, T> {
    /// Prints rows.
    pub fn print(&self, format: Format, rows: &[T]) -> Result<(), Failure> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let written = match format {
            Format::Json => rows.iter().try_for_each(|row| {
                serde_json::to_writer(&mut out, row)?;
                out.write_all(b"\n")
            }),
            Format::Csv => self.csv(&mut out, rows),
            Format::Plain => rows.iter().try_for_each(|row| {
                let cells: Vec<String> = (self.cells)(row).iter().map(|c| clean(c)).collect();
                writeln!(out, "{}", cells.join("\t"))
            }),
            Format::Table => self.table(&mut out, rows),
        };
        finish(written.and_then(|()| out.flush()))
    }

    fn csv(&self, out: &mut impl Write, rows: &[T]) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(self.columns)?;
        for row in rows {
            writer.write_record((self.cells)(row))?;
        }
        writer.flush()
    }

    fn table(&self, out: &mut impl Write, rows: &[T]) -> io::Result<()> {
        let rows: Vec<Vec<String>> = rows.iter().map(|r| (self.cells)(r).iter().map(|c| clean(c)).collect()).collect();
        let width = |i: usize, title: &str| {
            rows.iter().filter_map(|r| r.get(i)).map(|c| c.width()).chain([title.width()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = self.columns.iter().enumerate().map(|(i, c)| width(i, c)).collect();
        let titles: Vec<String> = self.columns.iter().map(|c| (*c).to_owned()).collect();
        for row in std::iter::once(&titles).chain(&rows) {
            let mut line = String::new();
            for (i, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths.get(i).copied().unwrap_or(0).saturating_sub(cell.width()));
                let cell = if self.right.contains(&i) { format!("{pad}{cell}") } else { format!("{cell}{pad}") };
                line.push_str(&cell);
                line.push_str("  ");
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Prints one JSON object.
pub fn object(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Failure::Environment(e.to_string()))?;
    line(&text)
}

/// Prints text and a line end.
pub fn line(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    finish(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// A reader that went away (`| head`) is no failure.
pub fn finish(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Environment(format!("cannot write the output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Text from a payload as a terminal may see it: no control, no direction marks, one line.
pub fn clean(text: &str) -> String {
    crate::tui::text::clean(text).into_owned()
}

/// Unix milliseconds as local time.
pub fn time(ms: i64) -> String {
    match chrono::DateTime::from_timestamp_millis(ms) {
        Some(at) => at.with_timezone(&chrono::Local).format("%Y-%m-%d %H:%M:%S").to_string(),
        None => "–".to_owned(),
    }
}

/// A day in UTC, as Stripe means `arrival_date`.
pub fn day(seconds: i64) -> String {
    chrono::DateTime::from_timestamp(seconds, 0).map_or_else(|| "–".to_owned(), |d| d.format("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_text_cannot_steer_a_terminal() {
        assert_eq!(clean("a\u{1b}]52;c;x\u{7}b\u{202e}c\u{9b}d\n"), "a�]52;c;x�b�c�d�");
        assert_eq!(clean("東京 café"), "東京 café");
        assert_eq!(day(1_770_163_200), "2026-02-04");
    }
}
