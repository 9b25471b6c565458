//! How a screen is divided, and what all lists share: moving, filtering, copying, exporting.

use std::io::Write;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde::Serialize;

use crate::store::error::StoreError;
use crate::tui::action::Action;
use crate::tui::filter;
use crate::tui::notices::Tone;
use crate::tui::overlay::Overlay;
use crate::tui::paint::{level, rule};
use crate::tui::screen::Cx;
use crate::tui::theme::Theme;
use crate::tui::window::{Rows, Window};

/// List and detail: side by side from 110 columns, one over the other from 80, else the list alone.
pub fn panes(area: Rect) -> (Rect, Option<Rect>) {
    if area.width >= 110 {
        let left = area.width * 60 / 100;
        let right = Rect { x: area.x + left, width: area.width - left, ..area };
        (Rect { width: left, ..area }, Some(right))
    } else if area.width >= 80 && area.height >= 16 {
        let top = area.height * 6 / 10;
        let below = Rect { y: area.y + top, height: area.height - top, ..area };
        (Rect { height: top, ..area }, Some(below))
    } else {
        (area, None)
    }
}

/// The same with the rule between them drawn; the detail is what is inside of it.
pub fn divided(area: Rect, buf: &mut Buffer, theme: &Theme) -> (Rect, Option<Rect>) {
    let (list, detail) = panes(area);
    let inside = detail.map(|pane| {
        if area.width >= 110 {
            rule(buf, pane, theme.border);
            Rect { x: pane.x + 2, width: pane.width.saturating_sub(2), ..pane }
        } else {
            level(buf, pane, 0, theme.border);
            Rect { y: pane.y + 1, height: pane.height.saturating_sub(1), ..pane }
        }
    });
    (list, inside)
}

/// Moves the selection; false when the action is no move.
pub fn moved<S: Rows>(
    window: &mut Window<S::Row>,
    source: &S,
    action: Action,
    height: usize,
) -> Result<bool, StoreError> {
    let page = i64::try_from(height.max(1)).unwrap_or(1);
    match action {
        Action::Down => window.step(source, 1)?,
        Action::Up => window.step(source, -1)?,
        Action::HalfDown => window.step(source, (page / 2).max(1))?,
        Action::HalfUp => window.step(source, -(page / 2).max(1))?,
        Action::PageDown => window.step(source, page)?,
        Action::PageUp => window.step(source, -page)?,
        Action::First => window.first(source)?,
        Action::Last => window.last(source)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Asks for a filter; the screen gets it through `set_filter`.
pub fn ask_filter(cx: &mut Cx<'_>, now: &str) {
    let lines = vec![
        "Words, and pairs: state:stuck  account:acct_…  currency:eur  type:payout.*  object:po_…".to_owned(),
        format!("Words look at the next {} rows.", crate::tui::text::number(crate::store::read::SEARCH_DEPTH)),
    ];
    let mut overlay = Overlay::prompt("Filter", lines, |cx, text| cx.set_filter(text));
    overlay.paste(now);
    *cx.overlay = Some(overlay);
}

/// The next state of a list's filter.
pub fn cycle(now: &str, states: &[&str]) -> String {
    filter::next_state(now, states)
}

/// Copies, and says so.
pub fn copy(cx: &mut Cx<'_>, text: &str) {
    cx.notices.say(Tone::Done, format!("copied {}", crate::tui::text::cut(text, 60)));
    cx.copied = Some(text.to_owned());
}

/// What every list does with its selected row, `object` and `account` being what the dashboard knows: copies its id or
/// all of it, or the dashboard's address. What it does not know it leaves with `cx.unused`.
pub fn on_row<T: Serialize>(
    cx: &mut Cx<'_>,
    action: Action,
    row: Option<&T>,
    parts: impl Fn(&T) -> (&str, &str, &str),
) {
    let Some(row) = row else {
        cx.unused = true;
        return;
    };
    let (id, account, object) = parts(row);
    match action {
        Action::Copy => copy(cx, id),
        Action::CopyJson => copy_json(cx, row),
        Action::Dashboard if !object.is_empty() => dashboard(cx, account, object),
        _ => cx.unused = true,
    }
}

/// Copies a row as JSON.
pub fn copy_json(cx: &mut Cx<'_>, row: &impl Serialize) {
    if let Ok(text) = serde_json::to_string(row) {
        copy(cx, &text);
    }
}

/// Copies the object's address in Stripe's dashboard.
pub fn dashboard(cx: &mut Cx<'_>, account: &str, object: &str) {
    let test = if cx.data.is_live() { "" } else { "/test" };
    let place = match object.split_once('_').map(|(prefix, _)| prefix) {
        Some("po") => "payouts",
        Some("ch" | "py" | "pi") => "payments",
        Some("tr") => "connect/transfers",
        Some("tu") => "topups",
        _ => "events",
    };
    let account = if account.starts_with("acct_") { format!("/{account}") } else { String::new() };
    copy(cx, &format!("https://dashboard.stripe.com{account}{test}/{place}/{object}"));
}

/// Writes rows as JSON lines beside the database's user: into the current directory, never over another file.
pub fn export<T: Serialize>(cx: &mut Cx<'_>, name: &str, rows: &[T]) {
    let stamp = chrono::Local::now().format("%Y%m%d-%H%M%S");
    let path = std::path::PathBuf::from(format!("payout-ledger-{name}-{stamp}.jsonl"));
    let written = std::fs::OpenOptions::new().write(true).create_new(true).open(&path).and_then(|file| {
        let mut out = std::io::BufWriter::new(file);
        for row in rows {
            serde_json::to_writer(&mut out, row)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    });
    match written {
        Ok(()) => {
            let path = std::fs::canonicalize(&path).unwrap_or(path);
            cx.notices.say(Tone::Done, format!("{} rows written to {}", rows.len(), path.display()));
        }
        Err(error) => cx.notices.say(Tone::Error, format!("cannot write {}: {error}", path.display())),
    }
}

/// An event's body, laid out when it is JSON, else as it is.
pub fn raw(cx: &mut Cx<'_>, seq: i64, id: &str) -> Result<(), StoreError> {
    let Some(body) = cx.data.reader.body(seq)? else {
        cx.notices.say(Tone::Warn, "the body was pruned");
        return Ok(());
    };
    let text = String::from_utf8_lossy(&body).into_owned();
    let nice =
        serde_json::from_str::<serde_json::Value>(&text).ok().and_then(|v| serde_json::to_string_pretty(&v).ok());
    let shown = nice.unwrap_or_else(|| text.clone());
    let lines = shown.lines().map(|l| crate::tui::text::clean(&l.replace('\t', "  ")).into_owned()).collect();
    let title =
        format!("{id}   {} bytes as received", crate::tui::text::number(i64::try_from(body.len()).unwrap_or(0)));
    let mut overlay = Overlay::text(&title, lines);
    if let Overlay::Text { copy, .. } = &mut overlay {
        *copy = text;
    }
    *cx.overlay = Some(overlay);
    Ok(())
}
