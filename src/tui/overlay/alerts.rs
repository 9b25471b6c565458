//! The list of alerts: what deserves a look, and saying that it was looked at.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Outcome, Overlay, frame};
use crate::domain::alert::AlertKind;
use crate::store::alerts::AlertRow;
use crate::store::error::StoreError;
use crate::tui::data::Data;
use crate::tui::notices::Tone;
use crate::tui::paint::put;
use crate::tui::screen::{Cx, Look};
use crate::tui::text::{clock, cut, fit, wrap};

/// The most that are listed.
const LISTED: usize = 500;

/// Open alerts, those nobody has seen first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alerts {
    rows: Vec<AlertRow>,
    selected: usize,
}

fn is_open(row: &AlertRow) -> bool {
    row.acknowledged_ms.is_none()
}

impl Alerts {
    /// Reads them.
    pub fn read(data: &Data, selected: usize) -> Result<Self, StoreError> {
        let mut rows = data.reader.alerts(LISTED)?;
        rows.retain(|row| row.cleared_ms.is_none());
        let selected = selected.min(rows.len().saturating_sub(1));
        Ok(Self { rows, selected })
    }

    /// Handles a key.
    pub fn key(&mut self, key: &KeyEvent) -> Outcome {
        let last = self.rows.len().saturating_sub(1);
        match key.code {
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Home | KeyCode::Char('g') => self.selected = 0,
            KeyCode::End | KeyCode::Char('G') => self.selected = last,
            KeyCode::Char('q' | 'A') => return Outcome::Closed,
            KeyCode::Enter | KeyCode::Char(' ') => {
                let ids: Vec<i64> =
                    self.rows.get(self.selected).filter(|r| is_open(r)).map(|r| r.id).into_iter().collect();
                return self.acknowledge(ids);
            }
            KeyCode::Char('a') => {
                let ids = self.rows.iter().filter(|r| is_open(r)).map(|r| r.id).collect();
                return self.acknowledge(ids);
            }
            _ => {}
        }
        Outcome::Open
    }

    fn acknowledge(&self, ids: Vec<i64>) -> Outcome {
        if ids.is_empty() {
            return Outcome::Open;
        }
        let selected = self.selected;
        let answer = move |cx: &mut Cx<'_>, _: String| {
            match cx.data.acknowledge(&ids) {
                Ok(n) => cx.notices.say(Tone::Done, format!("{n} acknowledged")),
                Err(why) => cx.notices.say(Tone::Error, why),
            }
            cx.reload = true;
            *cx.overlay = Self::read(cx.data, selected).ok().map(Overlay::Alerts);
        };
        Outcome::Answer(Box::new(answer), String::new())
    }

    /// Draws the list, and under it the whole text of the selected one.
    pub fn draw(&self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        let theme = look.theme;
        let open = self.rows.iter().filter(|r| is_open(r)).count();
        let title = format!("Alerts: {open} open, {} acknowledged", self.rows.len() - open);
        let inner = frame(area, buf, look, &title, area.width.saturating_sub(4), area.height.saturating_sub(4));
        if self.rows.is_empty() {
            put(
                buf,
                inner,
                0,
                0,
                "Nothing: no payout failed or is late, nothing is stuck, Stripe's record agrees.",
                theme.text,
            );
        }
        let width = usize::from(inner.width);
        let detail = self.rows.get(self.selected).map_or_else(Vec::new, |row| {
            wrap(&format!("{} {}: {}", row.alert.account, row.alert.object, row.alert.text), width)
        });
        let below = detail.len().min(3) + 2;
        let shown = usize::from(inner.height).saturating_sub(below);
        let first = (self.selected + 1).saturating_sub(shown);
        for (y, (i, row)) in (0..).zip(self.rows.iter().enumerate().skip(first).take(shown)) {
            if i == self.selected {
                let line = Rect { x: inner.x, y: inner.y + y, width: inner.width, height: 1 };
                buf.set_style(line, theme.selection);
            }
            let (glyph, style) = match row.alert.kind {
                _ if !is_open(row) => ("✓", theme.muted),
                AlertKind::Overdue | AlertKind::Finding | AlertKind::Silent => ("!", theme.warn),
                AlertKind::Failed | AlertKind::Returned | AlertKind::Stuck | AlertKind::Negative => ("✗", theme.err),
            };
            let text = if is_open(row) { theme.text } else { theme.muted };
            let x = put(buf, inner, 0, y, glyph, style) + 1;
            let x = put(buf, inner, x, y, &fit(row.alert.kind.as_str(), 9), style) + 1;
            let x = put(buf, inner, x, y, &fit(&clock(row.raised_ms, look.now_ms, look.zone), 13), theme.muted);
            put(buf, inner, x, y, &row.alert.text, text);
        }
        let bottom = inner.height;
        for (y, line) in (0..3).zip(detail.iter()) {
            let up = u16::try_from(below - 1).unwrap_or(2);
            put(buf, inner, 0, bottom.saturating_sub(up) + y, &cut(line, width), theme.heading);
        }
        let keys = "↵ acknowledge   a all   j k   esc close";
        put(buf, inner, 0, bottom.saturating_sub(1), keys, theme.muted);
    }
}
