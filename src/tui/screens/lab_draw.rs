//! How the lab looks: one mark per order for every strategy, and the order in front delivery by delivery.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::domain::money::show;
use crate::domain::strategy::Act;
use crate::lab::case::brief;
use crate::lab::compare::Outcome;
use crate::lab::orders::Mark;
use crate::lab::prove::Proof;
use crate::lab::stage::{SWITCHES, Stage};
use crate::tui::paint::{put, right, title};
use crate::tui::screen::Look;
use crate::tui::text::{fit, id, span, wrap};
use crate::tui::theme::Theme;

/// Columns of a strategy's rule.
const RULE: u16 = 33;
/// Our own row among the strategies.
const OURS: &str = "state_machine";

/// Why there is nothing to see.
pub fn fault(area: Rect, buf: &mut Buffer, look: Look<'_>, why: &str) {
    title(buf, area, 0, look.theme, "Ordering Lab", "");
    put(buf, area, 2, 2, why, look.theme.err);
}

/// The whole tab.
pub fn draw(
    area: Rect,
    buf: &mut Buffer,
    look: Look<'_>,
    stage: &Stage,
    selected: usize,
    place: &str,
    proof: Option<&Proof>,
) {
    let theme = look.theme;
    let note = format!("{place}: {}", stage.case.name);
    title(buf, area, 0, theme, "Ordering Lab", &note);
    if area.width >= 72 || stage.switch != 0 {
        let style = if stage.switch == 0 { theme.muted } else { theme.warn };
        right(buf, area, 0, &format!("{} ", SWITCHES[stage.switch]), style);
    }
    let tall = area.height >= 28;
    let mut y = 1;
    put(buf, area, 2, y, &stage.case.title, theme.text);
    y += 1;
    if tall {
        for line in wrap(&stage.case.teaches, usize::from(area.width.saturating_sub(4))).iter().take(2) {
            put(buf, area, 2, y, line, theme.muted);
            y += 1;
        }
        y += 1;
    }
    y = strategies(area, buf, look, y, stage, selected);
    if tall {
        y += 1;
    }
    y = deliveries(area, buf, look, y, stage, selected, tall);
    if tall {
        y += 1;
    }
    y = end(area, buf, look, y, stage, selected);
    if let Some(proof) = proof {
        y = proved(area, buf, look, y, proof);
    }
    if y + 1 < area.height {
        put(buf, area, 2, area.height - 1, "Nothing here touches your database: the lab runs in memory.", theme.faint);
    }
}

/// How many marks fit, and the first of them so that the order in front is among them.
fn window(width: u16, stage: &Stage) -> (usize, usize) {
    let room = usize::from(width.saturating_sub(RULE + 33)).clamp(8, 64).min(stage.orders.len().max(1));
    let first = stage.place().map_or(0, |place| (place / room) * room);
    (first, room)
}

fn strategies(area: Rect, buf: &mut Buffer, look: Look<'_>, y: u16, stage: &Stage, selected: usize) -> u16 {
    let theme = look.theme;
    let (first, room) = window(area.width, stage);
    let shown = room.min(stage.orders.len().saturating_sub(first));
    let counts = RULE + u16::try_from(room).unwrap_or(64) + 2;
    put(buf, area, 2, y, "RULE", theme.label);
    let heading = if shown < stage.orders.len() {
        format!("ORDERS {}–{}", first + 1, first + shown)
    } else {
        "ORDERS".to_owned()
    };
    put(buf, area, RULE, y, &fit(&heading, room.max(7)), theme.label);
    let total = format!("RIGHT of {}", stage.orders.len());
    put(buf, area, counts, y, &format!("{total:<13}BACK  NOW"), theme.label);
    let mut y = y + 1;
    for (i, (outcome, marks)) in stage.outcomes.iter().zip(&stage.marks).enumerate() {
        if i == selected {
            put(buf, area, 0, y, "▌", theme.accent);
        }
        let style = if i == selected || outcome.name == OURS { theme.heading } else { theme.text };
        put(buf, area, 2, y, &fit(outcome.rule, usize::from(RULE - 3)), style);
        for (x, mark) in (RULE..).zip(marks.iter().skip(first).take(room)) {
            let (glyph, style) = glyph(mark, theme);
            put(buf, area, x, y, glyph, style);
        }
        let right = marks.iter().filter(|m| m.right).count();
        let back = marks.iter().filter(|m| m.went_back).count();
        put(buf, area, counts, y, &format!("{right:>5}"), if right == marks.len() { theme.ok } else { theme.text });
        put(buf, area, counts + 13, y, &format!("{back:>4}"), if back == 0 { theme.muted } else { theme.warn });
        let (word, style) = verdict(outcome, theme);
        put(buf, area, counts + 19, y, word, style);
        y += 1;
    }
    if let Some(x) = stage.place().and_then(|place| place.checked_sub(first)).and_then(|x| u16::try_from(x).ok()) {
        put(buf, area, RULE + x, y, "▲", theme.accent);
    }
    put(buf, area, 2, y, "● right  × wrong  … waits", theme.faint);
    y + 1
}

/// One order in one glyph.
fn glyph(mark: &Mark, theme: &Theme) -> (&'static str, Style) {
    match mark {
        Mark { right: false, .. } => ("×", theme.err),
        Mark { waits: true, .. } | Mark { late: true, .. } => ("…", theme.warn),
        _ => ("●", theme.ok),
    }
}

fn verdict(outcome: &Outcome, theme: &Theme) -> (&'static str, Style) {
    match (outcome.matches, outcome.waiting.is_empty()) {
        (false, _) => ("× WRONG", theme.err),
        (true, false) => ("… waits", theme.warn),
        (true, true) => ("● right", theme.ok),
    }
}

fn deliveries(area: Rect, buf: &mut Buffer, look: Look<'_>, y: u16, stage: &Stage, selected: usize, tall: bool) -> u16 {
    let theme = look.theme;
    let order: String = stage.order.iter().map(|i| char::from_digit(*i as u32 + 1, 36).unwrap_or('?')).collect();
    let made = if stage.place().is_none() { format!("   by hand or by seed {}", stage.seed) } else { String::new() };
    let name = format!("Order {order}, step {} of {}{made}", stage.step, stage.order.len());
    title(buf, area, y, theme, &name, "");
    let other = stage.outcomes.get(selected).map_or("", |o| o.rule);
    let half = (area.width.saturating_sub(46)) / 2;
    let (event_x, says_x, ours_x, their_x) = (9, 25, 46, 46 + half);
    let y = y + 1;
    put(buf, area, 2, y, "AFTER", theme.label);
    put(buf, area, event_x, y, "EVENT", theme.label);
    put(buf, area, says_x, y, "SAYS", theme.label);
    put(buf, area, ours_x, y, "OURS", theme.label);
    put(buf, area, their_x, y, &other.to_uppercase(), theme.label);
    let mut y = y + 1;
    let ours = stage.outcomes.iter().position(|o| o.name == OURS).unwrap_or(0);
    let start = stage.deliveries.first().map_or(0, |d| d.at);
    // On a small screen the deliveries around the step.
    let room = usize::from(area.height.saturating_sub(y + if tall { 6 } else { 1 })).max(1);
    let first = stage.step.saturating_sub(room).min(stage.deliveries.len().saturating_sub(room));
    for (i, delivery) in stage.deliveries.iter().enumerate().skip(first).take(room) {
        let here = i + 1 == stage.step;
        let come = i < stage.step;
        if here {
            put(buf, area, 0, y, "▌", theme.accent);
        }
        let style = if come { theme.text } else { theme.faint };
        put(buf, area, 2, y, &fit(&span((delivery.at - start) * 1_000), 6), theme.muted);
        put(buf, area, event_x, y, &fit(&id(&delivery.event.id, 15), 15), style);
        put(buf, area, says_x, y, &fit(&says(stage, i), 20), style);
        if come {
            for (strategy, x, width) in [(ours, ours_x, half), (selected, their_x, area.width.saturating_sub(their_x))]
            {
                did(area, buf, theme, (x, y, width), stage.did(strategy, i));
            }
        } else {
            put(buf, area, ours_x, y, "not delivered yet", theme.faint);
        }
        y += 1;
    }
    y
}

/// What a delivery says of its object.
fn says(stage: &Stage, delivery: usize) -> String {
    let Some(delivery) = stage.deliveries.get(delivery) else { return String::new() };
    let object = &delivery.event.object;
    let events = stage.case.sender.history.iter().filter(|e| e.object == *object);
    let place = events.into_iter().position(|e| e.id == delivery.event.id).unwrap_or(0);
    let states = stage.case.states(object);
    brief(states.get(place).and_then(|state| state.as_deref()))
}

fn did(area: Rect, buf: &mut Buffer, theme: &Theme, at: (u16, u16, u16), did: Option<(Act, String, bool)>) {
    let (x, y, width) = at;
    let Some((act, shown, wrong)) = did else {
        put(buf, area, x, y, "dropped", theme.muted);
        return;
    };
    let (glyph, style) = match act {
        Act::Applied => ("✓", theme.ok),
        Act::Skipped(_) => ("~", theme.muted),
        Act::Waits => ("…", theme.warn),
        Act::Stuck => ("!", theme.err),
    };
    put(buf, area, x, y, glyph, style);
    let text = if wrong { format!("{shown} ≠") } else { shown };
    let room = usize::from(width.saturating_sub(3));
    put(buf, area, x + 2, y, fit(&text, room).trim_end(), if wrong { theme.err } else { theme.text });
}

/// The truth, and where the selected strategy ends.
fn end(area: Rect, buf: &mut Buffer, look: Look<'_>, y: u16, stage: &Stage, selected: usize) -> u16 {
    let theme = look.theme;
    let truth = stage.case.truth();
    let Some(outcome) = stage.outcomes.get(selected) else { return y };
    let wrong = truth.iter().filter(|(object, view)| outcome.end.get(*object) != Some(*view)).map(|(object, view)| {
        let shown = outcome.end.get(object).map_or_else(|| "never shown".to_owned(), |v| brief(v.as_deref()));
        format!("{object} ends as {shown}, true is {}", brief(view.as_deref()))
    });
    let balances = outcome.balances.iter().flatten();
    let off = balances.filter_map(|(account, minor)| {
        let (owner, currency) = account.rsplit_once(' ')?;
        let truth = stage.case.balances.as_ref()?.get(account).copied().unwrap_or(0);
        (truth != *minor)
            .then(|| format!("{owner} shows {}, true is {}", show(currency, *minor), show(currency, truth)))
    });
    let mut lines: Vec<String> = wrong.chain(off).collect();
    let mut style = theme.err;
    if lines.is_empty() {
        style = theme.ok;
        lines.push(format!("{}: right in this order", outcome.rule));
    }
    lines.extend(outcome.run.note.map(str::to_owned));
    if outcome.run.settled_after > 0 {
        lines.push(format!(
            "the last of it was posted {} after the last delivery",
            span(outcome.run.settled_after * 1_000)
        ));
    }
    let mut y = y;
    for line in lines.iter().take(4) {
        put(buf, area, 2, y, line, style);
        style = theme.muted;
        y += 1;
    }
    y
}

fn proved(area: Rect, buf: &mut Buffer, look: Look<'_>, y: u16, proof: &Proof) -> u16 {
    let theme = look.theme;
    let note = format!("{} random orders of {} histories, seed {}", proof.orders, proof.histories, proof.seed);
    title(buf, area, y, theme, "Proof", &note);
    let of = |name: &str| proof.records.iter().find(|r| r.name == name).map_or((0, 0), |r| (r.differs, r.waiting));
    let (ours, last) = (of(OURS), of("arrival_order"));
    let text = format!("ours: {} differ, {} waiting   last payload wins: {} differ", ours.0, ours.1, last.0);
    put(buf, area, 2, y + 1, &text, if ours == (0, 0) { theme.ok } else { theme.err });
    y + 2
}
