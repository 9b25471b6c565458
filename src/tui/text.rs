//! Text for cells: harmless, cut to a width in columns, money and times in one form.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Characters that could steer the terminal or reorder what stands beside them become U+FFFD. The same rule that the
/// command line's output follows.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if is_harmless(c) { c } else { '\u{fffd}' }).collect())
}

fn is_harmless(c: char) -> bool {
    !(c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'))
}

/// Exactly `width` columns: cut with `…`, or filled with blanks on the right.
pub fn fit(text: &str, width: usize) -> String {
    let mut out = cut(text, width);
    let used = out.width();
    out.push_str(&" ".repeat(width.saturating_sub(used)));
    out
}

/// Exactly `width` columns, set right.
pub fn fit_right(text: &str, width: usize) -> String {
    let out = cut(text, width);
    format!("{}{out}", " ".repeat(width.saturating_sub(out.width())))
}

/// At most `width` columns, ending in `…` when something is missing.
pub fn cut(text: &str, width: usize) -> String {
    let text = clean(text);
    if text.width() <= width {
        return text.into_owned();
    }
    let mut out = head(&text, width.saturating_sub(1));
    if width > 0 {
        out.push('…');
    }
    out
}

/// At most `width` columns of an id: its prefix and its end, which is what tells ids apart (`po_…Q7Qx1`).
pub fn id(text: &str, width: usize) -> String {
    let text = clean(text);
    if text.width() <= width {
        return text.into_owned();
    }
    let Some(prefix) = text.find('_').map(|at| &text[..=at]) else { return cut(&text, width) };
    let room = width.saturating_sub(prefix.width() + 1);
    if room < 3 {
        return cut(&text, width);
    }
    let mut tail = Vec::new();
    let mut used = 0;
    for grapheme in text.graphemes(true).rev() {
        used += grapheme.width();
        if used > room {
            break;
        }
        tail.push(grapheme);
    }
    tail.reverse();
    format!("{prefix}…{}", tail.concat())
}

fn head(text: &str, width: usize) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for grapheme in text.graphemes(true) {
        used += grapheme.width();
        if used > width {
            break;
        }
        out.push_str(grapheme);
    }
    out
}

/// Breaks text into lines of at most `width` columns, at blanks where there are any.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let text = clean(text);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word.to_owned();
        loop {
            let line = lines.last_mut().map(std::mem::take).unwrap_or_default();
            let gap = usize::from(!line.is_empty());
            if line.width() + gap + word.width() <= width || width == 0 {
                let joined = if gap == 1 { format!("{line} {word}") } else { word };
                lines.pop();
                lines.push(joined);
                break;
            }
            lines.pop();
            if line.is_empty() {
                let piece = head(&word, width.max(1));
                if piece.is_empty() {
                    lines.push(String::new());
                    break;
                }
                word = word[piece.len()..].to_owned();
                lines.push(piece);
            } else {
                lines.push(line);
            }
            lines.push(String::new());
        }
    }
    lines
}

/// How times are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Zone {
    /// The machine's own.
    #[default]
    Local,
    /// Coordinated universal time.
    Utc,
}

fn at(ms: i64, zone: Zone, format: &str) -> String {
    let Some(time) = chrono::DateTime::from_timestamp_millis(ms) else { return "–".to_owned() };
    match zone {
        Zone::Utc => time.format(format).to_string(),
        Zone::Local => time.with_timezone(&chrono::Local).format(format).to_string(),
    }
}

/// `10:42:09` for today's, `Nov 05 09:11` for other days'.
pub fn clock(ms: i64, now_ms: i64, zone: Zone) -> String {
    let day = "%Y%j";
    if at(ms, zone, day) == at(now_ms, zone, day) { at(ms, zone, "%H:%M:%S") } else { at(ms, zone, "%b %d %H:%M") }
}

/// `10:42:09` for today's, `Nov 05` for other days'.
pub fn short_clock(ms: i64, now_ms: i64, zone: Zone) -> String {
    let day = "%Y%j";
    if at(ms, zone, day) == at(now_ms, zone, day) { at(ms, zone, "%H:%M:%S") } else { at(ms, zone, "%b %d") }
}

/// `10:42:09.118` for today's, `Nov 05 09:11` for other days'.
pub fn precise(ms: i64, now_ms: i64, zone: Zone) -> String {
    let day = "%Y%j";
    if at(ms, zone, day) == at(now_ms, zone, day) { at(ms, zone, "%H:%M:%S%.3f") } else { at(ms, zone, "%b %d %H:%M") }
}

/// A day as Stripe means `arrival_date`: always UTC.
pub fn day(seconds: i64) -> String {
    chrono::DateTime::from_timestamp(seconds, 0).map_or_else(|| "–".to_owned(), |d| d.format("%a %b %d").to_string())
}

/// A span: `46 ms`, `2.7 s`, `22 h`.
pub fn span(ms: i64) -> String {
    match ms.max(0) {
        ms @ 0..=999 => format!("{ms} ms"),
        ms @ 1_000..=59_999 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        ms @ 60_000..=3_599_999 => format!("{} min", ms / 60_000),
        ms @ 3_600_000..=172_799_999 => format!("{} h", ms / 3_600_000),
        ms => format!("{} days", ms / 86_400_000),
    }
}

/// Thousands apart: `9,204`.
pub fn number(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    if n < 0 { format!("-{out}") } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_columns_not_bytes() {
        for (text, width) in [("東京の支払い", 5), ("a\u{202e}b", 3), ("👩‍👩‍👧 family", 4), ("", 3), ("é", 1), ("x", 0)]
        {
            assert_eq!(fit(text, width).width(), width, "{text:?}");
            assert_eq!(fit_right(text, width).width(), width, "{text:?}");
        }
        assert_eq!(id("po_1PgafTB7WZ01Q7Qx1", 9), "po_…Q7Qx1");
        assert_eq!(id("po_1", 9), "po_1");
        assert!(id("acct_1Pg東京01", 10).width() <= 10);
        assert_eq!(clean("a\u{1b}[2Jb\u{9b}"), "a\u{fffd}[2Jb\u{fffd}");
    }

    #[test]
    fn wrapped_lines_fit_and_lose_no_word() {
        let lines = wrap("the platform lacks 12.50 USD and averyveryverylongword 東京東京東京", 12);
        assert!(lines.iter().all(|l| l.width() <= 12), "{lines:?}");
        assert!(lines.concat().contains("lacks"));
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn spans_and_numbers() {
        assert_eq!([span(46), span(2_700), span(90_000), span(79_200_000)], ["46 ms", "2.7 s", "1 min", "22 h"]);
        assert_eq!([number(9_204), number(-1_000_000), number(7)], ["9,204", "-1,000,000", "7"]);
    }
}
