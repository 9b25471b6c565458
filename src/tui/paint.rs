//! Small strokes: text at a place, section titles, tables with columns.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use super::text::{fit, fit_right};
use super::theme::Theme;

/// Text at a place, cut at the area's right edge. Returns the column after it.
pub fn put(buf: &mut Buffer, area: Rect, x: u16, y: u16, text: &str, style: Style) -> u16 {
    if y >= area.height || x >= area.width {
        return x;
    }
    let room = usize::from(area.width - x);
    let text = super::text::cut(text, room);
    buf.set_string(area.x + x, area.y + y, &text, style);
    x.saturating_add(u16::try_from(text.width()).unwrap_or(u16::MAX))
}

/// A line of styled spans at a row.
pub fn put_line(buf: &mut Buffer, area: Rect, y: u16, line: &Line<'_>) {
    if y < area.height {
        buf.set_line(area.x, area.y + y, line, area.width);
    }
}

/// `▎ Title   note`. Returns nothing; takes one row.
pub fn title(buf: &mut Buffer, area: Rect, y: u16, theme: &Theme, text: &str, note: &str) {
    let x = put(buf, area, 0, y, "▎ ", theme.accent);
    let x = put(buf, area, x, y, text, theme.heading);
    put(buf, area, x + 3, y, note, theme.muted);
}

/// Text at the right end of a row.
pub fn right(buf: &mut Buffer, area: Rect, y: u16, text: &str, style: Style) {
    let width = u16::try_from(text.width()).unwrap_or(u16::MAX);
    if width < area.width {
        put(buf, area, area.width - width, y, text, style);
    }
}

/// A vertical rule at the left edge of an area.
pub fn rule(buf: &mut Buffer, area: Rect, style: Style) {
    for y in 0..area.height {
        buf.set_string(area.x, area.y + y, "│", style);
    }
}

/// A horizontal rule.
pub fn level(buf: &mut Buffer, area: Rect, y: u16, style: Style) {
    if y < area.height {
        buf.set_string(area.x, area.y + y, "─".repeat(usize::from(area.width)), style);
    }
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// The heading.
    pub title: &'static str,
    /// Columns at least.
    pub width: u16,
    /// Share of what is left over; 0 stays as it is.
    pub grow: u16,
    /// Set right, for money and numbers.
    pub right: bool,
    /// Dropped first when there is no room: higher goes earlier; 0 stays.
    pub drop: u8,
}

/// A column that keeps its width.
pub const fn fixed(title: &'static str, width: u16) -> Column {
    Column { title, width, grow: 0, right: false, drop: 0 }
}

/// The columns that fit into a width, each with its place. Two blanks stand between columns.
pub fn layout(columns: &[Column], width: u16) -> Vec<Option<(u16, u16)>> {
    const GAP: u16 = 2;
    let mut kept: Vec<bool> = vec![true; columns.len()];
    let needed =
        |kept: &[bool]| -> u16 { columns.iter().zip(kept).filter(|(_, k)| **k).map(|(c, _)| c.width + GAP).sum() };
    while needed(&kept) > width {
        let candidates = columns.iter().enumerate().filter(|(i, c)| kept[*i] && c.drop > 0);
        let Some((i, _)) = candidates.max_by_key(|(_, c)| c.drop) else { break };
        kept[i] = false;
    }
    let mut spare = width.saturating_sub(needed(&kept));
    let mut shares: u16 = columns.iter().zip(&kept).filter(|(_, k)| **k).map(|(c, _)| c.grow).sum();
    let mut x = 0;
    columns
        .iter()
        .zip(&kept)
        .map(|(column, kept)| {
            if !kept {
                return None;
            }
            let extra = if column.grow > 0 && shares > 0 { spare * column.grow / shares } else { 0 };
            (spare, shares) = (spare - extra, shares - column.grow);
            let place = (x, column.width + extra);
            x += column.width + extra + GAP;
            Some(place)
        })
        .collect()
}

/// The headings of a table.
pub fn headings(
    buf: &mut Buffer,
    area: Rect,
    y: u16,
    theme: &Theme,
    columns: &[Column],
    places: &[Option<(u16, u16)>],
) {
    for (column, place) in columns.iter().zip(places) {
        if let Some((x, width)) = place {
            cell(buf, area, (*x, *width), y, column, column.title, theme.label);
        }
    }
}

/// The style of a list's row, and its mark when it is the selected one.
pub fn row(buf: &mut Buffer, area: Rect, y: u16, theme: &Theme, selected: bool) -> Style {
    if !selected {
        return theme.text;
    }
    buf.set_style(Rect { y: area.y + y, height: 1, ..area }, theme.selection);
    put(buf, area, 0, y, "▌", theme.accent);
    theme.selection
}

/// The cells of a row.
pub fn cells<const N: usize>(
    buf: &mut Buffer,
    area: Rect,
    y: u16,
    columns: &[Column; N],
    places: &[Option<(u16, u16)>],
    cells: &[(String, Style); N],
) {
    for ((column, place), (text, style)) in columns.iter().zip(places).zip(cells) {
        if let Some(place) = place {
            cell(buf, area, *place, y, column, text, *style);
        }
    }
}

/// One cell.
pub fn cell(buf: &mut Buffer, area: Rect, place: (u16, u16), y: u16, column: &Column, text: &str, style: Style) {
    let width = usize::from(place.1);
    let text = if column.right { fit_right(text, width) } else { fit(text, width) };
    put(buf, area, place.0, y, text.trim_end(), style);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_and_the_least_wanted_go_first() {
        let columns = [
            fixed("A", 10),
            Column { drop: 2, ..fixed("B", 10) },
            Column { grow: 1, ..fixed("C", 10) },
            Column { drop: 1, ..fixed("D", 10) },
        ];
        assert_eq!(layout(&columns, 60), [Some((0, 10)), Some((12, 10)), Some((24, 22)), Some((48, 10))]);
        assert_eq!(layout(&columns, 40), [Some((0, 10)), None, Some((12, 14)), Some((28, 10))]);
        assert_eq!(layout(&columns, 30), [Some((0, 10)), None, Some((12, 16)), None]);
        layout(&columns, 1);
    }
}
