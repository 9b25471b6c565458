//! What stands around every screen: the header, the tabs, the footer, and the summary for windows that are too small.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use super::action::{BINDINGS, Scope, shown};
use super::data::Data;
use super::notices::{Notices, Tone};
use super::paint::{level, put, right};
use super::pulse::Pulse;
use super::screen::Look;
use super::text::{clock, number};
use crate::store::view::Summary;
use crate::stripe::listen::ListenState;

/// The least that a screen needs.
pub const SMALLEST: (u16, u16) = (60, 15);

/// The tabs' names.
pub const TABS: [&str; 6] = ["Payouts", "Balances", "Inbox", "Events", "Transfers", "Lab"];

/// What the header says.
pub struct Head<'a> {
    /// Below the screens.
    pub data: &'a Data,
    /// Counts.
    pub summary: &'a Summary,
    /// Events per second.
    pub pulse: &'a Pulse,
    /// Which tab is in front.
    pub tab: usize,
    /// Whether the screen is held still, and how many events came since.
    pub frozen: Option<i64>,
}

/// The receiver in a few words, and whether that is good.
fn receiver(head: &Head<'_>, look: Look<'_>) -> (String, Style) {
    let link = &head.data.link;
    let failure = link.health.lock().ok().and_then(|h| h.failure.clone());
    if link.endpoint.is_none() {
        return ("■ viewer".to_owned(), look.theme.info);
    }
    if link.broken {
        return ("✗ receiver stopped: restart".to_owned(), look.theme.err);
    }
    if let Some(failure) = failure {
        return (format!("✗ {failure}"), look.theme.err);
    }
    if link.secrets.is_empty() && !link.unsigned {
        return ("! no secret".to_owned(), look.theme.warn);
    }
    ("● receiving".to_owned(), look.theme.ok)
}

/// The first row.
pub fn header(area: Rect, buf: &mut Buffer, look: Look<'_>, head: &Head<'_>) {
    let theme = look.theme;
    let (mode, style) = if head.data.is_live() { (" LIVE ", theme.live) } else { (" TEST ", theme.test) };
    let wide = area.width >= 100;
    let mut x = 1;
    if wide {
        x = put(buf, area, x, 0, "PAYOUT LEDGER", theme.heading) + 1;
    }
    x = put(buf, area, x, 0, mode, style) + 1;
    let (state, style) = receiver(head, look);
    let refused = head.data.link.rejections.total();
    let tail = tail(look, head, wide);
    let room = usize::from(area.width.saturating_sub(x)).saturating_sub(tail.width() + 2);
    let state = super::text::cut(&state, room);
    let room = room.saturating_sub(state.width() + 1);
    x = put(buf, area, x, 0, &state, style) + 1;
    let words = stripe(head, look);
    let width =
        |short: bool| words.iter().map(|w| if short { w.short.width() } else { w.long.width() } + 2).sum::<usize>();
    if let Some(endpoint) = &head.data.link.endpoint {
        let short = endpoint.strip_prefix("http://127.0.0.1").unwrap_or(endpoint);
        let beside = if words.is_empty() { 0 } else { width(true) + 2 };
        let text = if wide && endpoint.width() + beside <= room { endpoint.as_str() } else { short };
        if text.width() <= room {
            x = put(buf, area, x, 0, text, theme.muted) + 2;
        }
    }
    let space = |x: u16| usize::from(area.width.saturating_sub(x)).saturating_sub(tail.width() + 1);
    let long = width(false) <= space(x);
    for word in &words {
        let text = if long { &word.long } else { &word.short };
        if text.width() < space(x) {
            x = put(buf, area, x, 0, text, word.style) + 2;
        }
    }
    let refused = if refused > 0 {
        format!("{} refused", number(i64::try_from(refused).unwrap_or(i64::MAX)))
    } else {
        String::new()
    };
    if !refused.is_empty()
        && refused.width() + 1 < usize::from(area.width.saturating_sub(x)).saturating_sub(tail.width())
    {
        put(buf, area, x, 0, &refused, theme.warn);
    }
    right(buf, area, 0, &format!("{tail} "), theme.muted);
    if let Some(news) = head.frozen {
        right(buf, area, 0, &format!(" FROZEN +{news} "), theme.warn);
    }
}

/// One thing the header says, in two lengths.
struct Word {
    long: String,
    short: String,
    style: Style,
}

/// The Stripe side in a few words: the child, alerts, findings, what is wrong.
fn stripe(head: &Head<'_>, look: Look<'_>) -> Vec<Word> {
    let theme = look.theme;
    let mut words = Vec::new();
    let mut say = |long: String, short: &str, style: Style| words.push(Word { long, short: short.to_owned(), style });
    if head.summary.alerts > 0 {
        let n = number(head.summary.alerts);
        say(format!("! alerts: {n} (A)"), &format!("!{n} A"), theme.err);
    }
    let Some(side) = &head.data.link.stripe else { return words };
    if let Some(listen) = &side.listen {
        let (long, short, style) = match &listen.state {
            ListenState::Ready => ("● stripe listen", "● listen", theme.ok),
            ListenState::Starting => ("◦ stripe listen", "◦ listen", theme.info),
            ListenState::Stopped => ("– stripe listen", "– listen", theme.muted),
            ListenState::Reconnecting(_) => ("! stripe listen reconnects", "! listen", theme.warn),
            ListenState::Unusable(_) => ("✗ stripe listen: L", "✗ listen: L", theme.err),
        };
        say(long.to_owned(), short, style);
    }
    if side.findings > 0 {
        say(format!("≠ findings: {}", side.findings), &format!("≠{}", side.findings), theme.warn);
    }
    if side.trouble.is_some() {
        say("✗ API".to_owned(), "✗ API", theme.err);
    }
    words
}

fn tail(look: Look<'_>, head: &Head<'_>, wide: bool) -> String {
    let last = head.summary.last_event_ms.map_or("never".to_owned(), |ms| clock(ms, look.now_ms, look.zone));
    let per_second = head.pulse.per_second(look.now_ms);
    let bars = head.pulse.bars(look.now_ms);
    if wide { format!("{per_second} ev/s {bars} {last}") } else { format!("{per_second}/s {last}") }
}

/// The second and third rows.
pub fn tabs(area: Rect, buf: &mut Buffer, look: Look<'_>, head: &Head<'_>) {
    let theme = look.theme;
    level(buf, area, 1, if head.data.is_live() { theme.err } else { theme.border });
    let wide = area.width >= 100;
    let mut x = 1;
    for (i, name) in TABS.iter().enumerate() {
        let start = x;
        let active = i == head.tab;
        x = put(buf, area, x, 0, &format!("{} ", i + 1), theme.key);
        x = put(buf, area, x, 0, name, if active { theme.heading } else { theme.muted });
        let inbox = head.summary.inbox;
        match i {
            0 if wide => x = put(buf, area, x + 1, 0, &number(head.summary.payouts), theme.muted),
            2 if inbox.stuck > 0 => {
                let chip = if wide {
                    format!("[{} stuck]", number(inbox.stuck))
                } else {
                    format!("[{}!]", number(inbox.stuck))
                };
                x = put(buf, area, x + 1, 0, &chip, theme.err);
            }
            2 if inbox.waiting > 0 => {
                x = put(buf, area, x + 1, 0, &format!("[{}…]", number(inbox.waiting)), theme.warn)
            }
            4 if head.summary.transfers_need_person > 0 => {
                let chip = format!("[{}!]", number(head.summary.transfers_need_person));
                x = put(buf, area, x + 1, 0, &chip, theme.err);
            }
            _ => {}
        }
        if active && x > start && area.height > 1 {
            let width = usize::from(x.min(area.width).saturating_sub(start));
            put(buf, area, start, 1, &"━".repeat(width), theme.accent);
        }
        x += if wide { 3 } else { 2 };
    }
    let path = head.data.database.display().to_string();
    let home = std::env::var("HOME").unwrap_or_default();
    let path = match path.strip_prefix(&home) {
        Some(rest) if !home.is_empty() => format!("~{rest}"),
        _ => path,
    };
    let room = usize::from(area.width.saturating_sub(x)).saturating_sub(6);
    if room >= 12 {
        right(buf, area, 0, &format!("db {} ", middle(&path, room)), theme.faint);
    }
}

/// A path cut in its middle: where it begins and its file's name matter.
fn middle(path: &str, width: usize) -> String {
    if path.width() <= width {
        return path.to_owned();
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let room = width.saturating_sub(name.width() + 3);
    let head: String = path.chars().take(room).collect();
    super::text::cut(&format!("{head}…/{name}"), width)
}

/// The last row: the keys of this place.
pub fn footer(area: Rect, buf: &mut Buffer, look: Look<'_>, scope: Scope) {
    let theme = look.theme;
    let tail = [(":", "palette"), ("?", "help"), ("q", "quit")];
    let tail_width: usize = tail.iter().map(|(k, w)| k.width() + w.width() + 3).sum();
    let mut x = 1;
    for binding in BINDINGS.iter().filter(|b| b.is_local(scope) && !b.short.is_empty()) {
        let key = binding.keys.first().map_or("", |k| shown(k));
        let width = key.width() + binding.short.width() + 3;
        if usize::from(x) + width + tail_width > usize::from(area.width) {
            break;
        }
        x = put(buf, area, x, 0, key, theme.key);
        x = put(buf, area, x + 1, 0, binding.short, theme.muted) + 2;
    }
    let mut x = area.width.saturating_sub(u16::try_from(tail_width).unwrap_or(0));
    for (key, word) in tail {
        x = put(buf, area, x, 0, key, theme.key);
        x = put(buf, area, x + 1, 0, word, theme.muted) + 2;
    }
}

/// What was just said, above the footer.
pub fn toast(area: Rect, buf: &mut Buffer, look: Look<'_>, notices: &Notices) {
    let Some(notice) = notices.current(look.now_ms) else { return };
    let (glyph, style) = match notice.tone {
        Tone::Done => ("✓", look.theme.ok),
        Tone::Warn => ("!", look.theme.warn),
        Tone::Error => ("✗", look.theme.err),
    };
    let x = put(buf, area, 1, 0, glyph, style) + 1;
    put(buf, area, x, 0, &notice.text, look.theme.text);
}

/// For windows that are too small: what matters, and what size it takes.
pub fn too_small(area: Rect, buf: &mut Buffer, look: Look<'_>, head: &Head<'_>) {
    let theme = look.theme;
    let (mode, style) = if head.data.is_live() { (" LIVE ", theme.live) } else { (" TEST ", theme.test) };
    let x = put(buf, area, 0, 0, mode, style) + 1;
    let inbox = head.summary.inbox;
    put(buf, area, x, 0, &format!("{} stuck  {} waiting", inbox.stuck, inbox.waiting), theme.text);
    let line = format!("Needs {}x{}, this is {}x{}.", SMALLEST.0, SMALLEST.1, area.width, area.height);
    put(buf, area, 0, 1, &line, theme.muted);
    put(buf, area, 0, 2, &format!("{} payouts, {} events", head.summary.payouts, head.summary.events), theme.text);
    right(buf, area, area.height.saturating_sub(1), "q quit", theme.muted);
}
