//! Tab 4: every event, newest first, and on `v` the money journal.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::split;
use crate::domain::money::show;
use crate::domain::outcome::State;
use crate::store::error::StoreError;
use crate::store::read::Reader;
use crate::store::view::{Direction, EventRow, Filter, JournalRow, Page};
use crate::tui::action::{Action, Scope};
use crate::tui::data::Data;
use crate::tui::filter;
use crate::tui::paint::{self, Column, fixed, put, right, title};
use crate::tui::screen::{Cx, Look, Screen};
use crate::tui::text::{clock, id, number, precise};
use crate::tui::window::{Rows, Window};

struct Events<'a>(&'a Reader, &'a Filter, Direction);

impl Rows for Events<'_> {
    type Row = EventRow;
    type Key = i64;
    type Cursor = i64;

    fn page(&self, page: &Page<i64>) -> Result<Vec<EventRow>, StoreError> {
        self.0.events(self.1, self.2, page)
    }

    fn find(&self, key: &i64) -> Result<Option<EventRow>, StoreError> {
        let row = self.0.event_by_seq(*key)?;
        Ok(row.filter(|row| self.1.states.is_empty() || self.1.states.contains(&row.state)))
    }

    fn key(row: &EventRow) -> i64 {
        row.seq
    }

    fn cursor(&self, row: &EventRow) -> i64 {
        row.seq
    }
}

struct Journal<'a>(&'a Reader, &'a Filter);

impl Rows for Journal<'_> {
    type Row = JournalRow;
    type Key = i64;
    type Cursor = i64;

    fn page(&self, page: &Page<i64>) -> Result<Vec<JournalRow>, StoreError> {
        self.0.journal(self.1, page)
    }

    fn find(&self, key: &i64) -> Result<Option<JournalRow>, StoreError> {
        let page = Page { cursor: Some(key.saturating_add(1)), before: false, limit: 1 };
        Ok(self.0.journal(self.1, &page)?.into_iter().find(|row| row.id == *key))
    }

    fn key(row: &JournalRow) -> i64 {
        row.id
    }

    fn cursor(&self, row: &JournalRow) -> i64 {
        row.id
    }
}

/// The screen.
#[derive(Default)]
pub struct EventsAndJournal {
    events: Window<EventRow>,
    journal: Window<JournalRow>,
    in_journal: bool,
    direction: Direction,
    typed: String,
    filter: Filter,
    total: i64,
    height: usize,
}

const EVENTS: [Column; 7] = [
    fixed("ARRIVED", 12),
    Column { right: true, ..fixed("×", 3) },
    fixed("STATE", 11),
    Column { grow: 1, ..fixed("TYPE", 18) },
    fixed("OBJECT", 13),
    Column { drop: 2, ..fixed("ACCOUNT", 14) },
    Column { grow: 3, drop: 1, ..fixed("WHAT IT DID", 24) },
];

const JOURNAL: [Column; 6] = [
    fixed("POSTED", 12),
    Column { grow: 1, ..fixed("OBJECT", 14) },
    fixed("LEG", 12),
    Column { grow: 1, ..fixed("FROM → TO", 26) },
    Column { right: true, ..fixed("AMOUNT", 18) },
    Column { drop: 1, ..fixed("EVENT", 16) },
];

impl EventsAndJournal {
    fn draw_events(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        let theme = look.theme;
        let inner = Rect { x: area.x + 3, width: area.width.saturating_sub(4), ..area };
        let places = paint::layout(&EVENTS, inner.width);
        paint::headings(buf, inner, 1, theme, &EVENTS, &places);
        self.events.scroll_into(self.height);
        if self.events.rows.is_empty() {
            let empty = if self.typed.is_empty() {
                "No event has come yet."
            } else {
                "No event matches. esc clears the filter"
            };
            put(buf, inner, 0, 3, empty, theme.muted);
        }
        for (y, (selected, row)) in (2..area.height).zip(self.events.visible(self.height)) {
            let base = paint::row(buf, area, y, theme, selected);
            let (glyph, style) = theme.state(&row.state);
            let did = if row.state == State::Applied.as_str() {
                row.effect.as_ref().or(row.reason.as_ref())
            } else {
                row.reason.as_ref()
            };
            let cells = [
                (precise(row.first_ms, look.now_ms, look.zone), base),
                (if row.deliveries > 1 { number(row.deliveries) } else { String::new() }, base),
                (format!("{glyph} {}", row.state), style),
                (row.kind.clone(), base),
                (id(&row.object, 13), base),
                (id(&row.account, 14), base),
                (did.cloned().unwrap_or_default(), base),
            ];
            paint::cells(buf, inner, y, &EVENTS, &places, &cells);
        }
    }

    fn draw_journal(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        let theme = look.theme;
        let inner = Rect { x: area.x + 3, width: area.width.saturating_sub(4), ..area };
        let places = paint::layout(&JOURNAL, inner.width);
        paint::headings(buf, inner, 1, theme, &JOURNAL, &places);
        self.journal.scroll_into(self.height);
        if self.journal.rows.is_empty() {
            put(buf, inner, 0, 3, "Nothing is posted yet.", theme.muted);
        }
        let side = |owner: &str, class: &str| {
            if class == "claims" { format!("{} claims", id(owner, 14)) } else { id(owner, 16) }
        };
        for (y, (selected, row)) in (2..area.height).zip(self.journal.visible(self.height)) {
            let base = paint::row(buf, area, y, theme, selected);
            let path = format!("{} → {}", side(&row.from, &row.from_class), side(&row.to, &row.to_class));
            let width = places[1].map_or(14, |p| usize::from(p.1));
            let cells = [
                clock(row.posted_ms, look.now_ms, look.zone),
                id(&row.object, width),
                row.leg.clone(),
                path,
                show(&row.currency, row.amount),
                row.event.as_deref().map_or("by hand".to_owned(), |e| id(e, 16)),
            ];
            for ((column, place), text) in JOURNAL.iter().zip(&places).zip(&cells) {
                if let Some(place) = place {
                    paint::cell(buf, inner, *place, y, column, text, base);
                }
            }
        }
    }
}

impl Screen for EventsAndJournal {
    fn scope(&self) -> Scope {
        Scope::Events
    }

    fn refresh(&mut self, data: &Data) -> Result<(), StoreError> {
        self.total = data.reader.summary()?.events;
        if self.in_journal {
            self.journal.reload(&Journal(&data.reader, &self.filter))
        } else {
            self.events.reload(&Events(&data.reader, &self.filter, self.direction))
        }
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        let theme = look.theme;
        self.height = usize::from(area.height.saturating_sub(2));
        let follow = if self.in_journal { self.journal.follow } else { self.events.follow };
        let filter = if self.typed.is_empty() { String::new() } else { format!("   / {}", self.typed) };
        let note =
            format!("{}{filter}", if follow { "following: newest first" } else { "held at this row; g follows again" });
        title(buf, area, 0, theme, if self.in_journal { "Money journal" } else { "Events" }, &note);
        let switch = if self.in_journal { "v  events " } else { "v  money journal " };
        right(buf, area, 0, &format!("{}   {switch}", number(self.total)), theme.muted);
        if self.in_journal { self.draw_journal(area, buf, look) } else { self.draw_events(area, buf, look) }
    }

    fn act(&mut self, action: Action, cx: &mut Cx<'_>) -> Result<(), StoreError> {
        let reader = &cx.data.reader;
        let moved = if self.in_journal {
            split::moved(&mut self.journal, &Journal(reader, &self.filter), action, self.height)?
        } else {
            split::moved(&mut self.events, &Events(reader, &self.filter, self.direction), action, self.height)?
        };
        if moved {
            return Ok(());
        }
        match action {
            Action::ToggleView => {
                self.in_journal = !self.in_journal;
                self.refresh(cx.data)?;
            }
            Action::Filter => split::ask_filter(cx, &self.typed),
            Action::CycleState if !self.in_journal => {
                self.set_filter(&split::cycle(&self.typed, &State::ALL.map(State::as_str)));
                self.refresh(cx.data)?;
            }
            Action::Reverse if !self.in_journal => {
                self.direction = match self.direction {
                    Direction::Descending => Direction::Ascending,
                    Direction::Ascending => Direction::Descending,
                };
                self.events = Window::default();
                self.refresh(cx.data)?;
            }
            Action::Back if !self.typed.is_empty() => {
                self.set_filter("");
                self.refresh(cx.data)?;
            }
            Action::Raw | Action::Open if !self.in_journal => {
                if let Some(row) = self.events.current() {
                    split::raw(cx, row.seq, &row.id.clone())?;
                }
            }
            Action::Export if self.in_journal => split::export(cx, "journal", &self.journal.rows),
            Action::Export => split::export(cx, "events", &self.events.rows),
            other if self.in_journal => {
                split::on_row(cx, other, self.journal.current(), |row| (&row.object, "", ""));
            }
            other => split::on_row(cx, other, self.events.current(), |row| (&row.id, &row.account, &row.object)),
        }
        Ok(())
    }

    fn filter(&self) -> Option<&str> {
        Some(&self.typed)
    }

    fn set_filter(&mut self, text: &str) {
        self.typed = text.to_owned();
        self.filter = filter::parse(text);
        self.events = Window::default();
        self.journal = Window::default();
    }
}
