//! Tab 3: what needs a person, then what waits; why, and what would help.

use std::collections::BTreeSet;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{balances, inbox_why, split};
use crate::domain::money::show;
use crate::domain::outcome::State;
use crate::store::act::Deed;
use crate::store::error::StoreError;
use crate::store::read::Reader;
use crate::store::view::{EventRow, Filter, InboxCounts, InboxDetail, Page};
use crate::tui::action::{Action, Scope};
use crate::tui::data::Data;
use crate::tui::filter;
use crate::tui::notices::Tone;
use crate::tui::overlay::Overlay;
use crate::tui::paint::{self, Column, fixed, put, right, title};
use crate::tui::screen::{Cx, Look, Screen};
use crate::tui::text::{clean, clock, id, number};
use crate::tui::window::{Rows, Window};

struct Source<'a> {
    reader: &'a Reader,
    filter: &'a Filter,
}

impl Rows for Source<'_> {
    type Row = EventRow;
    type Key = i64;
    type Cursor = (State, i64);

    fn page(&self, page: &Page<(State, i64)>) -> Result<Vec<EventRow>, StoreError> {
        self.reader.inbox(self.filter, page)
    }

    fn find(&self, key: &i64) -> Result<Option<EventRow>, StoreError> {
        let row = self.reader.event_by_seq(*key)?;
        let shown = |state: &str| match self.filter.states.as_slice() {
            [] => matches!(state, "stuck" | "waiting"),
            states => states.iter().any(|s| s == state),
        };
        Ok(row.filter(|row| shown(&row.state)))
    }

    fn key(row: &EventRow) -> i64 {
        row.seq
    }

    fn cursor(&self, row: &EventRow) -> (State, i64) {
        (State::parse(&row.state).unwrap_or(State::Stuck), row.seq)
    }
}

/// The screen.
#[derive(Default)]
pub struct Inbox {
    window: Window<EventRow>,
    typed: String,
    filter: Filter,
    detail: Option<InboxDetail>,
    body: Option<Vec<u8>>,
    settled: Vec<EventRow>,
    marked: BTreeSet<String>,
    counts: InboxCounts,
    height: usize,
    /// Events of the last dismiss, for undo.
    dismissed: Vec<String>,
}

const COLUMNS: [Column; 6] = [
    fixed("STATE", 11),
    Column { grow: 1, ..fixed("EVENT", 16) },
    Column { grow: 1, ..fixed("OBJECT", 10) },
    Column { right: true, ..fixed("NEEDS", 16) },
    Column { right: true, drop: 1, ..fixed("TRY", 4) },
    Column { right: true, drop: 2, ..fixed("NEXT", 8) },
];

/// What a row lacks, in the fewest words.
fn needs(row: &EventRow) -> String {
    match (&row.needs, row.state.as_str()) {
        (Some(needs), _) => show(&needs.currency, needs.amount),
        (None, "stuck") => "a decision".to_owned(),
        _ => String::new(),
    }
}

impl Inbox {
    fn load_detail(&mut self, data: &Data) -> Result<(), StoreError> {
        let seq = self.window.current().map(|row| row.seq);
        self.detail = match seq {
            Some(seq) => data.reader.inbox_detail(seq)?,
            None => None,
        };
        self.body = match seq {
            Some(seq) => data.reader.body(seq)?,
            None => None,
        };
        Ok(())
    }

    /// The marked rows, or the selected one.
    fn chosen(&self) -> Vec<String> {
        if self.marked.is_empty() {
            self.window.current().map(|row| row.id.clone()).into_iter().collect()
        } else {
            self.marked.iter().cloned().collect()
        }
    }

    /// Says what a deed came to.
    fn report(cx: &mut Cx<'_>, verb: &str, result: Result<Vec<Deed>, String>) -> Vec<Deed> {
        match result {
            Ok(deeds) => {
                let text = match deeds.as_slice() {
                    [one] => format!("{} {} → {}: {}", one.id, one.before, one.after, one.text),
                    many => {
                        let changed = many.iter().filter(|d| d.before != d.after).count();
                        format!("{} of {} {verb}", changed, many.len())
                    }
                };
                let moved = deeds.iter().any(|d| d.before != d.after);
                cx.notices.say(if moved { Tone::Done } else { Tone::Warn }, clean(&text).into_owned());
                cx.reload = true;
                deeds
            }
            Err(why) => {
                cx.notices.say(Tone::Error, why);
                Vec::new()
            }
        }
    }

    fn retry(&mut self, cx: &mut Cx<'_>, ids: &[String]) {
        if ids.is_empty() {
            cx.notices.say(Tone::Warn, "nothing to retry here");
            return;
        }
        let result = cx.data.retry(ids);
        Self::report(cx, "changed by the retry", result);
        self.marked.clear();
    }

    fn ask_dismiss(&mut self, cx: &mut Cx<'_>) {
        let ids = self.chosen();
        if ids.is_empty() {
            cx.notices.say(Tone::Warn, "nothing to dismiss here");
            return;
        }
        let mut lines: Vec<String> = self
            .window
            .rows
            .iter()
            .filter(|row| ids.contains(&row.id))
            .take(5)
            .map(|row| format!("{}  {}  {}", row.kind, id(&row.object, 14), needs(row)))
            .collect();
        if ids.len() > lines.len() {
            lines.push(format!("and {} more", ids.len() - lines.len()));
        }
        lines.push(String::new());
        lines.push(
            "They leave the inbox. The ledger does not change, the raw bodies stay. u brings them back.".to_owned(),
        );
        lines.push("Reason, kept in the audit:".to_owned());
        let plural = if ids.len() == 1 { "event" } else { "events" };
        let heading = format!("Dismiss {} {plural}?", ids.len());
        let done = move |cx: &mut Cx<'_>, reason: String| {
            if reason.trim().is_empty() {
                cx.notices.say(Tone::Warn, "not dismissed: give a reason");
                return;
            }
            let result = cx.data.dismiss(&ids, reason.trim());
            Self::report(cx, "dismissed   u undo", result);
        };
        *cx.overlay = Some(Overlay::prompt(&heading, lines, done));
        self.dismissed = self.chosen();
        self.marked.clear();
    }

    fn dry_run(&self, cx: &mut Cx<'_>) {
        match cx.data.dry_run(&self.chosen()) {
            Ok(deeds) => {
                let mut lines = vec!["Nothing was changed. A retry now would do this:".to_owned(), String::new()];
                for deed in deeds {
                    lines.push(format!("{}   {} → {}", deed.id, deed.before, deed.after));
                    lines.push(format!("   {}", clean(&deed.text)));
                }
                *cx.overlay = Some(Overlay::text("Dry run", lines));
            }
            Err(why) => cx.notices.say(Tone::Error, why),
        }
    }

    fn undo(&mut self, cx: &mut Cx<'_>) {
        let selected = self.window.current().filter(|row| row.state == "dismissed").map(|row| row.id.clone());
        let ids = match selected {
            Some(id) => vec![id],
            None => std::mem::take(&mut self.dismissed),
        };
        if ids.is_empty() {
            cx.notices.say(Tone::Warn, "nothing to undo; dismissed rows are under  f");
            return;
        }
        let result = cx.data.restore(&ids);
        Self::report(cx, "brought back", result);
    }

    fn draw_list(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        let theme = look.theme;
        let what =
            if self.typed.is_empty() { "needs a person, then waits".to_owned() } else { format!("/ {}", self.typed) };
        title(buf, area, 0, theme, "Inbox", &what);
        let counts = format!(
            "{} stuck  {} waiting  {} dismissed ",
            number(self.counts.stuck),
            number(self.counts.waiting),
            number(self.counts.dismissed)
        );
        right(buf, area, 0, &counts, theme.muted);
        let inner = Rect { x: area.x + 3, width: area.width.saturating_sub(4), ..area };
        let places = paint::layout(&COLUMNS, inner.width);
        paint::headings(buf, inner, 1, theme, &COLUMNS, &places);
        let below = u16::try_from(self.settled.len().min(4)).unwrap_or(0);
        let below = if below > 0 && area.height > 14 { below + 2 } else { 0 };
        self.height = usize::from(area.height.saturating_sub(2 + below));
        self.window.scroll_into(self.height);
        if self.window.rows.is_empty() {
            let text = if self.typed.is_empty() {
                format!(
                    "Nothing is stuck. {} events applied or skipped.",
                    number(self.counts.applied + self.counts.skipped)
                )
            } else {
                format!("No row matches {}. esc clears the filter", self.typed)
            };
            put(buf, inner, 0, 3, &text, theme.muted);
        }
        let end = area.height.saturating_sub(below);
        for (y, (selected, row)) in (2..end).zip(self.window.visible(self.height)) {
            let base = paint::row(buf, area, y, theme, selected);
            if self.marked.contains(&row.id) {
                put(buf, area, 1, y, "*", theme.accent);
            }
            let (glyph, style) = theme.state(&row.state);
            let next = match (row.next_ms, row.state.as_str()) {
                (Some(ms), _) => clock(ms, look.now_ms, look.zone),
                (None, "stuck") => "you".to_owned(),
                _ => String::new(),
            };
            let width = places[2].map_or(10, |p| usize::from(p.1));
            let cells = [
                (format!("{glyph} {}", row.state), style),
                (row.kind.clone(), base),
                (id(&row.object, width), base),
                (needs(row), base),
                (format!("{}/8", row.attempts), base),
                (next, base),
            ];
            paint::cells(buf, inner, y, &COLUMNS, &places, &cells);
        }
        if below > 0 {
            title(buf, area, end + 1, theme, "Recently settled by themselves", "");
            for (y, row) in (end + 2..area.height).zip(&self.settled) {
                let at = row.settled_ms.map_or(String::new(), |ms| clock(ms, look.now_ms, look.zone));
                let x = put(buf, area, 3, y, "✓ ", theme.ok);
                let x = put(buf, area, x, y, &format!("{}  {}", row.kind, id(&row.object, 14)), theme.text);
                put(buf, area, x + 2, y, &format!("after {} tries, {at}", row.attempts), theme.muted);
            }
        }
    }
}

impl Screen for Inbox {
    fn scope(&self) -> Scope {
        Scope::Inbox
    }

    fn refresh(&mut self, data: &Data) -> Result<(), StoreError> {
        self.counts = data.reader.summary()?.inbox;
        self.settled = data.reader.recently_settled(4)?;
        self.window.reload(&Source { reader: &data.reader, filter: &self.filter })?;
        self.load_detail(data)
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        let (list, detail) = split::divided(area, buf, look.theme);
        self.draw_list(list, buf, look);
        let Some(pane) = detail else { return };
        if let Some(detail) = &self.detail {
            inbox_why::draw(pane, buf, look, detail, self.body.as_deref());
        }
    }

    fn act(&mut self, action: Action, cx: &mut Cx<'_>) -> Result<(), StoreError> {
        let source = Source { reader: &cx.data.reader, filter: &self.filter };
        if split::moved(&mut self.window, &source, action, self.height)? {
            return self.load_detail(cx.data);
        }
        match action {
            Action::Filter => split::ask_filter(cx, &self.typed),
            Action::CycleState => {
                self.set_filter(&split::cycle(&self.typed, &["stuck", "waiting", "dismissed", "skipped", "ignored"]));
                self.refresh(cx.data)?;
            }
            Action::Back if !self.typed.is_empty() || !self.marked.is_empty() => {
                self.marked.clear();
                self.set_filter("");
                self.refresh(cx.data)?;
            }
            Action::Mark => {
                if let Some(row) = self.window.current() {
                    let id = row.id.clone();
                    if !self.marked.remove(&id) {
                        self.marked.insert(id);
                    }
                    self.window.step(&source, 1)?;
                    self.load_detail(cx.data)?;
                }
            }
            Action::MarkAll => self.marked.extend(self.window.rows.iter().map(|row| row.id.clone())),
            Action::Retry => self.retry(cx, &self.chosen()),
            Action::RetryShown => {
                let ids: Vec<String> = self.window.rows.iter().map(|row| row.id.clone()).collect();
                if ids.is_empty() {
                    cx.notices.say(Tone::Warn, "nothing to retry here");
                    return Ok(());
                }
                let lines = vec![
                    "Each is tried once now. A retry costs no attempt and changes nothing that cannot go.".to_owned(),
                ];
                let heading = format!("Retry {} events?", ids.len());
                *cx.overlay = Some(Overlay::confirm(&heading, lines, "Retry", move |cx| {
                    let result = cx.data.retry(&ids);
                    Self::report(cx, "changed by the retry", result);
                }));
            }
            Action::DryRun => self.dry_run(cx),
            Action::Dismiss => self.ask_dismiss(cx),
            Action::Undo => self.undo(cx),
            Action::OpenBalance => {
                let needs = self.window.current().and_then(|row| row.needs.clone());
                let (account, currency) = needs.map(|n| (n.account, n.currency)).unwrap_or_default();
                balances::ask_opening(cx, &account, &currency);
            }
            Action::Raw | Action::Open => {
                if let Some(row) = self.window.current() {
                    split::raw(cx, row.seq, &row.id.clone())?;
                }
            }
            Action::Export => split::export(cx, "inbox", &self.window.rows),
            other => split::on_row(cx, other, self.window.current(), |row| (&row.id, &row.account, &row.object)),
        }
        Ok(())
    }

    fn filter(&self) -> Option<&str> {
        Some(&self.typed)
    }

    fn set_filter(&mut self, text: &str) {
        self.typed = text.to_owned();
        self.filter = filter::parse(text);
        self.window = Window::default();
    }
}
