//! Tab 1: payouts, and beside the list the selected one's timeline, money and details.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{payout, split};
use crate::domain::money::Currency;
use crate::domain::payout::Status;
use crate::store::error::StoreError;
use crate::store::read::{PayoutCursor, Reader};
use crate::store::view::{Direction, Filter, Page, PayoutDetail, PayoutRow, PayoutSort};
use crate::tui::action::{Action, Scope};
use crate::tui::data::Data;
use crate::tui::filter;
use crate::tui::paint::{self, Column, fixed, put, title};
use crate::tui::screen::{Cx, Look, Screen};
use crate::tui::text::{id, number, short_clock};
use crate::tui::window::{Rows, Window};

struct Source<'a> {
    reader: &'a Reader,
    filter: &'a Filter,
    sort: PayoutSort,
    direction: Direction,
}

impl Rows for Source<'_> {
    type Row = PayoutRow;
    type Key = String;
    type Cursor = PayoutCursor;

    fn page(&self, page: &Page<PayoutCursor>) -> Result<Vec<PayoutRow>, StoreError> {
        self.reader.payouts(self.filter, self.sort, self.direction, page)
    }

    fn find(&self, key: &String) -> Result<Option<PayoutRow>, StoreError> {
        let row = self.reader.payout(key)?;
        let states = &self.filter.states;
        Ok(row.filter(|row| states.is_empty() || states.contains(&row.status)))
    }

    fn key(row: &PayoutRow) -> String {
        row.id.clone()
    }

    fn cursor(&self, row: &PayoutRow) -> PayoutCursor {
        PayoutCursor::of(row, self.sort)
    }
}

/// The screen.
#[derive(Default)]
pub struct Payouts {
    window: Window<PayoutRow>,
    typed: String,
    filter: Filter,
    sort: PayoutSort,
    direction: Direction,
    detail: Option<PayoutDetail>,
    /// The full page, when it is open.
    page: Option<payout::Page>,
    total: i64,
    height: usize,
}

const COLUMNS: [Column; 6] = [
    fixed("STATE", 13),
    Column { right: true, ..fixed("AMOUNT", 16) },
    Column { grow: 1, ..fixed("PAYOUT", 10) },
    Column { grow: 1, ..fixed("ACCOUNT", 10) },
    Column { right: true, drop: 2, ..fixed("EVTS", 4) },
    Column { right: true, drop: 1, ..fixed("LAST", 8) },
];

impl Payouts {
    fn source<'a>(&'a self, data: &'a Data) -> Source<'a> {
        Source { reader: &data.reader, filter: &self.filter, sort: self.sort, direction: self.direction }
    }

    fn reload(&mut self, data: &Data) -> Result<(), StoreError> {
        let mut window = std::mem::take(&mut self.window);
        let result = window.reload(&self.source(data));
        self.window = window;
        result?;
        self.load_detail(data)
    }

    fn load_detail(&mut self, data: &Data) -> Result<(), StoreError> {
        let current = self.window.current().map(|row| row.id.clone());
        self.detail = match &current {
            Some(id) => data.reader.payout_detail(id)?,
            None => None,
        };
        if let (Some(page), Some(detail)) = (&mut self.page, &self.detail) {
            page.show(detail.clone());
        }
        Ok(())
    }

    fn step(&mut self, action: Action, data: &Data) -> Result<bool, StoreError> {
        let mut window = std::mem::take(&mut self.window);
        let moved = split::moved(&mut window, &self.source(data), action, self.height);
        self.window = window;
        let moved = moved?;
        if moved {
            self.load_detail(data)?;
        }
        Ok(moved)
    }

    fn restart(&mut self, data: &Data) -> Result<(), StoreError> {
        self.window = Window::default();
        self.reload(data)
    }

    fn sorted_by(&self) -> String {
        let name = match self.sort {
            PayoutSort::LastEvent => "last event",
            PayoutSort::Amount => "amount",
            PayoutSort::Arrival => "arrival",
        };
        let arrow = if self.direction == Direction::Descending { "↓" } else { "↑" };
        format!("sorted by {name} {arrow}")
    }

    fn draw_list(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        let theme = look.theme;
        let filtered = if self.typed.is_empty() { String::new() } else { format!("/ {}   ", self.typed) };
        title(buf, area, 0, theme, "Payouts", &filtered);
        let of = if self.typed.is_empty() {
            format!("{}   {} ", self.sorted_by(), number(self.total))
        } else {
            format!("{} ", self.sorted_by())
        };
        paint::right(buf, area, 0, &of, theme.muted);
        let inner = Rect { x: area.x + 3, width: area.width.saturating_sub(4), ..area };
        let places = paint::layout(&COLUMNS, inner.width);
        paint::headings(buf, inner, 1, theme, &COLUMNS, &places);
        self.height = usize::from(area.height.saturating_sub(2));
        self.window.scroll_into(self.height);
        if self.window.rows.is_empty() {
            put(buf, inner, 0, 3, "No payout matches. esc clears the filter", theme.muted);
        }
        for (y, (selected, row)) in (2..area.height).zip(self.window.visible(self.height)) {
            let base = paint::row(buf, area, y, theme, selected);
            let (glyph, style) = theme.status(&row.status);
            let unposted = if row.posted { "" } else { "*" };
            let state = format!("{glyph} {}{unposted}", row.status);
            let last = short_clock(row.last_ms, look.now_ms, look.zone);
            let money = match Currency::parse(&row.currency) {
                Ok(c) => c.money(row.amount),
                Err(_) => format!("{} {}", row.amount, row.currency),
            };
            let id_width = places[2].map_or(10, |p| usize::from(p.1));
            let account_width = places[3].map_or(10, |p| usize::from(p.1));
            let cells = [
                (state, style),
                (money, base),
                (id(&row.id, id_width), base),
                (id(&row.account, account_width), base),
                (row.events.to_string(), base),
                (last, base),
            ];
            paint::cells(buf, inner, y, &COLUMNS, &places, &cells);
        }
    }
}

impl Screen for Payouts {
    fn scope(&self) -> Scope {
        if self.page.is_some() { Scope::Payout } else { Scope::Payouts }
    }

    fn refresh(&mut self, data: &Data) -> Result<(), StoreError> {
        self.total = data.reader.summary()?.payouts;
        self.reload(data)
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        if let Some(page) = &mut self.page {
            page.draw(area, buf, look);
            return;
        }
        let (list, detail) = split::divided(area, buf, look.theme);
        self.draw_list(list, buf, look);
        let (Some(pane), Some(detail)) = (detail, &self.detail) else { return };
        payout::summary(pane, buf, look, detail);
    }

    fn act(&mut self, action: Action, cx: &mut Cx<'_>) -> Result<(), StoreError> {
        if let Some(page) = &mut self.page {
            match action {
                Action::Back | Action::Left => self.page = None,
                Action::NextRow => drop(self.step(Action::Down, cx.data)?),
                Action::PreviousRow => drop(self.step(Action::Up, cx.data)?),
                other => page.act(other, cx)?,
            }
            return Ok(());
        }
        if self.step(action, cx.data)? {
            return Ok(());
        }
        match action {
            Action::Open | Action::Right => {
                self.page = self.detail.clone().map(payout::Page::new);
            }
            Action::Filter => split::ask_filter(cx, &self.typed),
            Action::CycleState => {
                let words = Status::ALL.map(Status::as_str);
                self.set_filter(&split::cycle(&self.typed, &words));
                self.restart(cx.data)?;
            }
            Action::Sort => {
                self.sort = match self.sort {
                    PayoutSort::LastEvent => PayoutSort::Amount,
                    PayoutSort::Amount => PayoutSort::Arrival,
                    PayoutSort::Arrival => PayoutSort::LastEvent,
                };
                self.restart(cx.data)?;
            }
            Action::Reverse => {
                self.direction = match self.direction {
                    Direction::Descending => Direction::Ascending,
                    Direction::Ascending => Direction::Descending,
                };
                self.restart(cx.data)?;
            }
            Action::Back if !self.typed.is_empty() => {
                self.set_filter("");
                self.restart(cx.data)?;
            }
            Action::Export => split::export(cx, "payouts", &self.window.rows),
            Action::Raw => {
                if let Some(event) = self.detail.as_ref().and_then(|d| d.timeline.last()) {
                    split::raw(cx, event.seq, &event.id)?;
                }
            }
            other => split::on_row(cx, other, self.window.current(), |row| (&row.id, &row.account, &row.id)),
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
