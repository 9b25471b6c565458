//! One order's transfer: what we know and from whom, the guards by name, every attempt, the events about it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::transfers::{state, words};
use crate::domain::money::show;
use crate::guard::tell::{Attempt, Shown, advice, attempts, guards};
use crate::store::read::TransferDetail;
use crate::tui::overlay::Overlay;
use crate::tui::paint::{put, title};
use crate::tui::screen::Look;
use crate::tui::text::{clean, clock, cut, id, wrap};

/// A pane that is filled from the top.
struct Pane<'a> {
    area: Rect,
    buf: &'a mut Buffer,
    look: Look<'a>,
    y: u16,
}

impl Pane<'_> {
    fn title(&mut self, text: &str, note: &str) {
        title(self.buf, self.area, self.y, self.look.theme, text, note);
        self.y += 1;
    }

    /// Text over as many lines as it needs, at most `most`.
    fn text(&mut self, x: u16, text: &str, style: Style, most: usize) {
        for line in wrap(text, usize::from(self.area.width.saturating_sub(x + 1))).iter().take(most) {
            put(self.buf, self.area, x, self.y, line, style);
            self.y += 1;
        }
    }

    fn pair(&mut self, name: &str, text: &str, style: Style) {
        put(self.buf, self.area, 2, self.y, name, self.look.theme.label);
        self.text(21, text, style, 3);
    }
}

/// Draws it beside the list.
pub fn draw(area: Rect, buf: &mut Buffer, look: Look<'_>, detail: &TransferDetail) {
    let theme = look.theme;
    let shown = Shown::new(&detail.row);
    let mut pane = Pane { area, buf, look, y: 0 };
    pane.title(&cut(&shown.order, 40), &format!("{} to {}", show(&shown.currency, shown.amount), shown.destination));
    let (glyph, style) = state(theme, detail.row.intent.state);
    let from = shown.known_from.map_or(String::new(), |source| format!("   known from: {source}"));
    let state_line = format!("{glyph} {}{from}", words(detail.row.intent.state));
    pane.text(2, &state_line, style, 1);
    pane.text(2, &shown.what_we_know, theme.text, 4);
    if let Some(ms) = shown.next_ms {
        pane.text(2, &format!("next try {}", clock(ms, look.now_ms, look.zone)), theme.muted, 1);
    }
    if let Some(advice) = advice(&detail.row) {
        pane.text(2, &advice, theme.warn, 3);
    }
    pane.y += 1;
    pane.title("Guards", "each alone has a gap");
    for (n, (name, what)) in (1..).zip(guards(detail)) {
        pane.pair(&format!("{n} {name}"), &what, theme.text);
    }
    pane.y += 1;
    let attempts = attempts(detail);
    pane.title("Attempts", &format!("{}, newest first", attempts.len()));
    for attempt in attempts.iter().rev() {
        draw_attempt(&mut pane, attempt);
    }
    pane.y += 1;
    pane.title("Events about it", &format!("{}   {} legs in the ledger", detail.events.len(), detail.legs.len()));
    for event in &detail.events {
        let at = clock(event.first_ms, look.now_ms, look.zone);
        let text = format!("{at}  {}  {}  {}", event.kind, id(&event.id, 14), event.state);
        pane.text(2, &text, theme.text, 1);
    }
}

fn draw_attempt(pane: &mut Pane<'_>, attempt: &Attempt) {
    let (look, theme) = (pane.look, pane.look.theme);
    let at = clock(attempt.sent_ms, look.now_ms, look.zone);
    let status = attempt.status.map_or_else(|| "–".to_owned(), |status| status.to_string());
    let request = attempt.request_id.as_deref().unwrap_or("no request id");
    let replayed = if attempt.replayed { "  replayed" } else { "" };
    let key = attempt.idempotency_key.rsplit('-').next().unwrap_or_default();
    let style = match attempt.status {
        Some(200..300) => theme.ok,
        Some(_) => theme.err,
        None => theme.warn,
    };
    pane.text(2, &format!("{at}  {key}  {status}  {request}{replayed}"), style, 1);
    pane.text(4, &attempt.answer, theme.text, 2);
    let first = clock(attempt.key_first_ms, look.now_ms, look.zone);
    let old = if attempt.key_may_be_forgotten { "; Stripe may have forgotten it" } else { "" };
    pane.text(4, &format!("key first used {first}{old}"), theme.muted, 1);
    if let Some(note) = attempt.note {
        pane.text(4, note, theme.warn, 3);
    }
}

/// Everything to read and copy: the guards, each attempt with what is to be said about it, the whole history.
pub fn everything(detail: &TransferDetail, look: Look<'_>) -> Overlay {
    let mut lines = vec![clean(&Shown::new(&detail.row).what_we_know).into_owned()];
    lines.extend(advice(&detail.row));
    lines.push(String::new());
    lines.extend((1..).zip(guards(detail)).map(|(n, (name, what))| format!("{n} {name:<17} {what}")));
    for attempt in attempts(detail) {
        let at = clock(attempt.sent_ms, look.now_ms, look.zone);
        let first = clock(attempt.key_first_ms, look.now_ms, look.zone);
        lines.push(String::new());
        lines.push(format!("POST {at}  {}, key first used {first}", attempt.idempotency_key));
        lines.push(format!("     {}", clean(&attempt.answer)));
        lines.extend(attempt.note.map(|note| format!("     {note}")));
    }
    lines.push(String::new());
    for line in &detail.history {
        let at = clock(line.at_ms, look.now_ms, look.zone);
        let status = line.status.map_or(String::new(), |status| format!("  {status}"));
        let request = line.request_id.as_ref().map_or(String::new(), |request| format!("  {request}"));
        let replayed = if line.replayed { "  replayed" } else { "" };
        let what = line.what.as_str();
        lines.push(format!(
            "{at}  {what:<9} v{}  {:<11} {}{status}{request}{replayed}",
            line.version, line.state, line.who
        ));
        if !line.detail.is_empty() {
            lines.push(format!("          {}", clean(&line.detail)));
        }
    }
    Overlay::text(&format!("{}   everything", detail.row.order.order_ref), lines)
}
