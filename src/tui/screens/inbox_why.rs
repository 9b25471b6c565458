//! Beside the inbox: why a row is where it is, what would unblock it, who competes, its tries, its body.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::money::show;
use crate::store::view::{BalanceRow, EventRow, InboxDetail, Needs};
use crate::tui::paint::{put, title};
use crate::tui::screen::Look;
use crate::tui::text::{clock, id, wrap};

/// Draws it.
pub fn draw(area: Rect, buf: &mut Buffer, look: Look<'_>, detail: &InboxDetail, body: Option<&[u8]>) {
    let theme = look.theme;
    let row = &detail.row;
    let heading = match row.state.as_str() {
        "stuck" => "Why it is stuck",
        "waiting" => "Why it waits",
        _ => "What became of it",
    };
    title(buf, area, 0, theme, heading, "");
    let width = usize::from(area.width.saturating_sub(3));
    let mut y = 1;
    for line in why(row, detail.balance.as_ref()).iter().flat_map(|l| wrap(l, width)) {
        put(buf, area, 2, y, &line, theme.text);
        y += 1;
    }
    for leg in &detail.wants {
        let text = format!(
            "wants  {} {} → {}  {}",
            leg.leg,
            id(&leg.from, 14),
            id(&leg.to, 14),
            show(&leg.currency, leg.amount)
        );
        put(buf, area, 2, y, &text, theme.muted);
        y += 1;
    }
    if matches!(row.state.as_str(), "stuck" | "waiting") {
        y = unblock(area, buf, look, y + 1, detail);
    }
    if !detail.competitors.is_empty() {
        title(buf, area, y + 1, theme, "Who competes", "for the same money, oldest first");
        y = events(area, buf, look, y + 2, &detail.competitors);
    }
    if !detail.tries.is_empty() {
        title(buf, area, y + 1, theme, "Tries", "the same lack each time");
        let times: Vec<String> = detail.tries.iter().map(|ms| clock(*ms, look.now_ms, look.zone)).collect();
        y += 2;
        for line in wrap(&times.join("  "), width) {
            put(buf, area, 2, y, &line, theme.muted);
            y += 1;
        }
    }
    for act in detail.audit.iter().rev().take(3) {
        let at = clock(act.at_ms, look.now_ms, look.zone);
        let text = format!("{at} {} {} {} → {} {}", act.who, act.action, act.before, act.after, act.reason);
        y += 1;
        put(buf, area, 2, y, &text, theme.muted);
    }
    raw(area, buf, look, y + 2, row, body);
}

fn why(row: &EventRow, balance: Option<&BalanceRow>) -> Vec<String> {
    let Some(needs) = &row.needs else {
        let reason = row.reason.clone().or(row.effect.clone()).unwrap_or_default();
        return vec![reason];
    };
    let Needs { account, currency, amount } = needs;
    let has = balance.map_or(0, |b| b.posted);
    vec![
        format!("{account} has {} and lacks {}.", show(currency, has), show(currency, *amount)),
        "Rolled back whole; nothing is lost.".to_owned(),
        match row.next_ms {
            Some(_) => format!("{} of 8 tries used; it tries again by itself.", row.attempts),
            None => format!("{} of 8 tries used; a credit still revives it.", row.attempts),
        },
    ]
}

fn unblock(area: Rect, buf: &mut Buffer, look: Look<'_>, y: u16, detail: &InboxDetail) -> u16 {
    let theme = look.theme;
    title(buf, area, y, theme, "What would unblock it", "");
    let mut y = y + 1;
    let mut way = |key: &str, text: &str, y: &mut u16| {
        put(buf, area, 2, *y, key, theme.key);
        put(buf, area, 4, *y, text, theme.text);
        *y += 1;
    };
    if let Some(needs) = &detail.row.needs {
        let money = show(&needs.currency, needs.amount);
        way("·", &format!("a credit of {money} to {}: at once", id(&needs.account, 20)), &mut y);
        if !detail.balance.as_ref().is_some_and(|b| b.opened) {
            way("b", "open its balance, if it had money before", &mut y);
        }
    }
    way("x", "dry run: what a retry would do now", &mut y);
    way("r", "try again now      d  dismiss, with a reason", &mut y);
    if !detail.would_help.is_empty() {
        put(buf, area, 2, y, "these wait too and would credit it:", theme.muted);
        y = events(area, buf, look, y + 1, &detail.would_help);
    }
    y
}

fn events(area: Rect, buf: &mut Buffer, look: Look<'_>, mut y: u16, rows: &[EventRow]) -> u16 {
    for row in rows.iter().take(4) {
        let (glyph, style) = look.theme.state(&row.state);
        let x = put(buf, area, 2, y, glyph, style) + 1;
        let money = row.amount.zip(row.currency.as_ref()).map(|(n, c)| show(c, n)).unwrap_or_default();
        put(buf, area, x, y, &format!("{}  {}  {money}", row.kind, id(&row.object, 14)), look.theme.text);
        y += 1;
    }
    if rows.len() > 4 {
        put(buf, area, 2, y, &format!("and {} more", rows.len() - 4), look.theme.muted);
        y += 1;
    }
    y
}

fn raw(area: Rect, buf: &mut Buffer, look: Look<'_>, y: u16, row: &EventRow, body: Option<&[u8]>) {
    let theme = look.theme;
    if y + 2 >= area.height {
        return;
    }
    let note =
        format!("×{}   created {}", row.deliveries, clock(row.created.saturating_mul(1_000), look.now_ms, look.zone));
    title(buf, area, y, theme, &format!("Event {}", id(&row.id, 18)), &note);
    let Some(body) = body else { return };
    let text = String::from_utf8_lossy(body.get(..body.len().min(4_000)).unwrap_or_default());
    let one_line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let width = usize::from(area.width.saturating_sub(3));
    for (y, line) in (y + 1..area.height).zip(wrap(&one_line, width)) {
        put(buf, area, 2, y, &line, theme.faint);
    }
}
