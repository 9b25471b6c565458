//! One payout: its timeline, its money, its details. Short beside the list, whole on a page of its own.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::split;
use crate::domain::money::show;
use crate::domain::payout::Status;
use crate::store::error::StoreError;
use crate::store::view::{EventRow, PayoutDetail};
use crate::tui::action::Action;
use crate::tui::lanes::{self, Stop};
use crate::tui::paint::{put, put_line, right, title};
use crate::tui::screen::{Cx, Look};
use crate::tui::text::{clock, cut, day, fit, id, precise, span, wrap};

/// `1,250.00 USD  ✓ paid  platform`.
fn heading(area: Rect, buf: &mut Buffer, look: Look<'_>, y: u16, detail: &PayoutDetail) {
    let row = &detail.row;
    let (glyph, style) = look.theme.status(&row.status);
    let x = put(buf, area, 2, y, &show(&row.currency, row.amount), look.theme.heading) + 2;
    let x = put(buf, area, x, y, &format!("{glyph} {}", row.status), style) + 2;
    let x = put(buf, area, x, y, &id(&row.account, 24), look.theme.text) + 2;
    if !row.posted {
        put(buf, area, x, y, "unposted: its money waits", look.theme.warn);
    } else if row.ambiguous {
        put(buf, area, x, y, "details ambiguous: two in one second", look.theme.warn);
    }
}

fn short_kind(row: &EventRow) -> String {
    let kind = row.kind.strip_prefix("payout.").unwrap_or(&row.kind);
    if row.deliveries > 1 { format!("{kind} ×{}", row.deliveries) } else { kind.to_owned() }
}

/// `07.118` for today's, `Nov 05` for other days': the narrow pane compares neighbours.
fn second(ms: i64, look: Look<'_>) -> String {
    let whole = precise(ms, look.now_ms, look.zone);
    match whole.rsplit_once(':') {
        Some((_, second)) if second.contains('.') => second.to_owned(),
        _ => whole.chars().take(6).collect(),
    }
}

/// What a delivery did, in a few words.
fn did(row: &EventRow) -> String {
    let text = if row.state == "applied" { row.effect.as_ref() } else { row.reason.as_ref() };
    let text = text.or(row.reason.as_ref()).map_or("", String::as_str);
    text.to_owned()
}

fn strip_spans(strip: lanes::Strip) -> Vec<Span<'static>> {
    strip.into_iter().map(|(glyph, style)| Span::styled(glyph.to_string(), style)).collect()
}

/// The pane beside the list.
pub fn summary(area: Rect, buf: &mut Buffer, look: Look<'_>, detail: &PayoutDetail) {
    let theme = look.theme;
    title(buf, area, 0, theme, &cut(&detail.row.id, usize::from(area.width.saturating_sub(3))), "");
    heading(area, buf, look, 1, detail);
    let arrives = detail.row.arrival_date.map_or("–".to_owned(), day);
    let failure = detail.row.failure_code.as_deref().unwrap_or("–");
    put(buf, area, 2, 2, &format!("arrives {arrives}   failure {failure}"), theme.muted);
    let stops = lanes::stops(&detail.timeline);
    let late = stops.iter().filter(|s| s.late > 0).count();
    let mut y = 4;
    let note = format!("{} events, {late} came late", detail.timeline.len());
    title(buf, area, y, theme, "Timeline", &note);
    put(buf, area, 1, y + 1, " # ARRIVED EVENT    ORDER p t P F C", theme.label);
    y += 2;
    let room = usize::from(area.height.saturating_sub(y + 6)).max(2);
    let skip = detail.timeline.len().saturating_sub(room);
    for (i, (row, stop)) in detail.timeline.iter().zip(&stops).enumerate().skip(skip) {
        y = timeline_row(area, buf, look, y, i, row, stop);
    }
    y = now_row(area, buf, look, y, detail);
    y += 1;
    y = money(area, buf, look, y, detail);
    details(area, buf, look, y + 1, detail);
}

fn timeline_row(area: Rect, buf: &mut Buffer, look: Look<'_>, y: u16, i: usize, row: &EventRow, stop: &Stop) -> u16 {
    let theme = look.theme;
    let (glyph, style) = theme.state(&row.state);
    let mut spans = vec![
        Span::styled(format!("{:>3} ", i + 1), theme.faint),
        Span::styled(fit(&second(row.first_ms, look), 7), theme.muted),
        Span::styled(fit(&short_kind(row), 10), theme.text),
        Span::styled(fit(&lanes::order(stop), 5), if stop.late > 0 { theme.warn } else { theme.muted }),
    ];
    spans.extend(strip_spans(lanes::strip(row, stop, 2, theme)));
    let word = if area.width >= 46 { format!(" {glyph} {}", row.state) } else { format!(" {glyph}") };
    spans.push(Span::styled(word, style));
    put_line(buf, area, y, &Line::from(spans));
    y + 1
}

fn now_row(area: Rect, buf: &mut Buffer, look: Look<'_>, y: u16, detail: &PayoutDetail) -> u16 {
    let theme = look.theme;
    let mut spans = vec![Span::styled(format!("{:<26}", "    now"), theme.muted)];
    spans.extend(strip_spans(lanes::now(&detail.row.status, 2, theme)));
    spans.push(Span::styled(format!(" {}", detail.row.status), theme.heading));
    put_line(buf, area, y, &Line::from(spans));
    if let Some(theirs) = lanes::last_write_wins(&detail.timeline, &detail.row.status) {
        put(buf, area, 2, y + 1, &format!("last write wins would say {theirs} ≠"), theme.warn);
        return y + 2;
    }
    y + 1
}

/// The legs and the balance; returns the next free row.
fn money(area: Rect, buf: &mut Buffer, look: Look<'_>, y: u16, detail: &PayoutDetail) -> u16 {
    let theme = look.theme;
    title(buf, area, y, theme, "Money", "each leg once");
    let mut y = y + 1;
    for leg in &detail.legs {
        let amount = format!("{} ", show(&leg.currency, leg.amount));
        let room = usize::from(area.width).saturating_sub(amount.len() + 15) / 2;
        let text = format!("{:<8} {} → {}", cut(&leg.leg, 8), id(&leg.from, room.min(24)), id(&leg.to, room.min(24)));
        put(buf, area, 2, y, &text, theme.text);
        right(buf, area, y, &amount, theme.text);
        y += 1;
    }
    if detail.legs.is_empty() {
        put(
            buf,
            area,
            2,
            y,
            if detail.row.posted { "nothing moves yet" } else { "nothing posted yet: it waits" },
            theme.muted,
        );
        y += 1;
    }
    if let Some(balance) = &detail.balance {
        put(buf, area, 2, y, &format!("{} now has", id(&balance.account, 20)), theme.muted);
        let (text, style) = if balance.owed > 0 {
            (format!("owes {} ", show(&balance.currency, balance.owed)), theme.err)
        } else {
            (format!("{} ", show(&balance.currency, balance.available)), theme.text)
        };
        right(buf, area, y, &text, style);
        y += 1;
    }
    y
}

fn details(area: Rect, buf: &mut Buffer, look: Look<'_>, y: u16, detail: &PayoutDetail) {
    let theme = look.theme;
    if y + 1 >= area.height {
        return;
    }
    title(buf, area, y, theme, "Details", &format!("from {}", id(&detail.details_event, 16)));
    for (y, (label, text)) in (y + 1..area.height).zip(&detail.details) {
        let text = match label.as_str() {
            "arrival_date" => text.parse().map_or_else(|_| text.clone(), day),
            _ => text.clone(),
        };
        put(buf, area, 2, y, &fit(label, 22), theme.label);
        put(buf, area, 25, y, &text, theme.text);
    }
}

/// The page.
pub struct Page {
    detail: PayoutDetail,
    selected: usize,
    stripe_order: bool,
}

impl Page {
    /// Opens it on the newest event.
    pub fn new(detail: PayoutDetail) -> Self {
        let selected = detail.timeline.len().saturating_sub(1);
        Self { detail, selected, stripe_order: false }
    }

    /// Shows what was read again, or another payout.
    pub fn show(&mut self, detail: PayoutDetail) {
        if detail.row.id != self.detail.row.id {
            *self = Self { stripe_order: self.stripe_order, ..Self::new(detail) };
            return;
        }
        self.detail = detail;
        self.selected = self.selected.min(self.detail.timeline.len().saturating_sub(1));
    }

    /// Acts on the selected event.
    pub fn act(&mut self, action: Action, cx: &mut Cx<'_>) -> Result<(), StoreError> {
        let last = self.detail.timeline.len().saturating_sub(1);
        match action {
            Action::Down => self.selected = (self.selected + 1).min(last),
            Action::Up => self.selected = self.selected.saturating_sub(1),
            Action::First => self.selected = 0,
            Action::Last => self.selected = last,
            Action::StripeOrder => self.stripe_order = !self.stripe_order,
            Action::Copy => split::copy(cx, &self.detail.row.id),
            Action::CopyJson => split::copy_json(cx, &self.detail.row),
            Action::Dashboard => split::dashboard(cx, &self.detail.row.account, &self.detail.row.id),
            Action::Raw | Action::Open => {
                if let Some(row) = self.rows().get(self.selected) {
                    split::raw(cx, row.0.seq, &row.0.id.clone())?;
                }
            }
            _ => cx.unused = true,
        }
        Ok(())
    }

    /// The deliveries with their stops, in the order asked for.
    fn rows(&self) -> Vec<(&EventRow, Stop)> {
        let stops = lanes::stops(&self.detail.timeline);
        let mut rows: Vec<(&EventRow, Stop)> = self.detail.timeline.iter().zip(stops).collect();
        if self.stripe_order {
            rows.sort_by_key(|(_, stop)| stop.order);
        }
        rows
    }

    /// Draws it.
    pub fn draw(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        let theme = look.theme;
        let detail = &self.detail;
        put(buf, area, 1, 0, &format!("◂ Payouts / {}", detail.row.id), theme.heading);
        heading(area, buf, look, 1, detail);
        let note = if self.stripe_order {
            "in Stripe's order"
        } else {
            "in order of arrival. The path only moves right; a ○ left of it is late news"
        };
        title(buf, area, 3, theme, "Timeline", note);
        let wide = area.width >= 105;
        let lane = if wide { 9 } else { 3 };
        self.draw_headings(area, buf, look, 4, wide);
        let room = usize::from(area.height.saturating_sub(16)).max(3);
        let rows = self.rows();
        let first = (self.selected + 1).saturating_sub(room).min(rows.len().saturating_sub(room));
        let mut y = 5;
        for (i, (row, stop)) in rows.iter().enumerate().skip(first).take(room) {
            let gap = i.checked_sub(1).and_then(|j| rows.get(j)).map(|(before, _)| row.first_ms - before.first_ms);
            if i == self.selected {
                buf.set_style(
                    Rect { y: (area.y + y).min(area.y + area.height - 1), height: 1, ..area },
                    theme.selection,
                );
                put(buf, area, 0, y, "▌", theme.accent);
            }
            self.draw_row(area, buf, look, y, i, row, stop, gap, lane);
            y += 1;
        }
        let offset = if wide { 51 } else { 39 };
        let mut now = vec![Span::styled(fit("     now", offset), theme.muted)];
        now.extend(strip_spans(lanes::now(&detail.row.status, lane, theme)));
        now.push(Span::styled(format!(" {}", detail.row.status), theme.heading));
        put_line(buf, area, y, &Line::from(now));
        for (y, line) in (y + 1..y + 3).zip(crate::lab::counterfactual::lines(&detail.timeline)) {
            put(buf, area, 3, y, &line, theme.warn);
        }
        y += 3;
        let left = Rect {
            y: area.y + y.min(area.height),
            height: area.height.saturating_sub(y),
            width: area.width / 2,
            ..area
        };
        let half =
            Rect { x: area.x + area.width / 2 + 1, width: area.width.saturating_sub(area.width / 2 + 1), ..left };
        let after = money(left, buf, look, 0, detail);
        self.draw_audit(left, buf, look, after + 1);
        self.draw_event(half, buf, look);
    }

    fn draw_headings(&self, area: Rect, buf: &mut Buffer, look: Look<'_>, y: u16, wide: bool) {
        let mut text = if wide {
            format!("   {:<3} {:<13} {:<9} {:<13}{:<7}", "#", "ARRIVED", "GAP", "EVENT", "ORDER")
        } else {
            format!("   {:<3} {:<13}{:<13}{:<6}", "#", "ARRIVED", "EVENT", "ORDER")
        };
        text = fit(&text, if wide { 51 } else { 39 });
        for (status, letter) in Status::ALL.iter().zip(["p", "t", "P", "F", "C"]) {
            text.push_str(&if wide { format!("{:^9}", status.as_str()) } else { format!("{letter:^3}") });
        }
        text.push_str("  WHAT IT DID");
        put(buf, area, 0, y, &text, look.theme.label);
    }

    #[allow(clippy::too_many_arguments, reason = "one row's worth of drawing")]
    fn draw_row(
        &self,
        area: Rect,
        buf: &mut Buffer,
        look: Look<'_>,
        y: u16,
        i: usize,
        row: &EventRow,
        stop: &Stop,
        gap: Option<i64>,
        lane: usize,
    ) {
        let theme = look.theme;
        let (glyph, style) = theme.state(&row.state);
        let mut spans = vec![Span::styled(format!("   {:<3} ", i + 1), theme.faint)];
        spans.push(Span::styled(fit(&precise(row.first_ms, look.now_ms, look.zone), 13), theme.muted));
        if lane == 9 {
            let gap = gap.map(|ms| if ms < 0 { format!("-{}", span(-ms)) } else { format!("+{}", span(ms)) });
            spans.push(Span::styled(fit(&format!(" {}", gap.unwrap_or_default()), 11), theme.faint));
        }
        spans.push(Span::styled(fit(&short_kind(row), 13), theme.text));
        let order = if lane == 9 { 7 } else { 6 };
        spans.push(Span::styled(fit(&lanes::order(stop), order), if stop.late > 0 { theme.warn } else { theme.muted }));
        spans.extend(strip_spans(lanes::strip(row, stop, lane, theme)));
        spans.push(Span::styled(format!("  {glyph} {}  ", row.state), style));
        spans.push(Span::styled(crate::tui::text::clean(&did(row)).into_owned(), theme.muted));
        put_line(buf, area, y, &Line::from(spans));
    }

    fn draw_audit(&self, area: Rect, buf: &mut Buffer, look: Look<'_>, y: u16) {
        title(buf, area, y, look.theme, "Who did what", "");
        if self.detail.audit.is_empty() {
            put(buf, area, 2, y + 1, "nobody did anything to this payout", look.theme.muted);
        }
        for (y, row) in (y + 1..).zip(&self.detail.audit) {
            let at = clock(row.at_ms, look.now_ms, look.zone);
            let text = format!("{at}  {} {} {} → {}  {}", row.who, row.action, row.before, row.after, row.reason);
            put(buf, area, 2, y, &text, look.theme.text);
        }
    }

    /// The selected event, and below it the details.
    fn draw_event(&self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        let rows = self.rows();
        let mut y = 0;
        if let Some((row, _)) = rows.get(self.selected) {
            title(buf, area, y, look.theme, &format!("Event {}", self.selected + 1), &row.id);
            for line in wrap(&did(row), usize::from(area.width.saturating_sub(3))).iter().take(3) {
                y += 1;
                put(buf, area, 2, y, line, look.theme.text);
            }
            y += 2;
        }
        details(area, buf, look, y, &self.detail);
    }
}
