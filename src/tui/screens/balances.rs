//! Tab 2: balances by account and currency, and who wants the selected one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::split;
use crate::domain::money::{Currency, show};
use crate::domain::owner::Owner;
use crate::store::error::StoreError;
use crate::store::read::Reader;
use crate::store::view::{BalanceRow, EventRow, Filter, JournalRow, Page};
use crate::tui::action::{Action, Scope};
use crate::tui::data::Data;
use crate::tui::filter;
use crate::tui::notices::Tone;
use crate::tui::overlay::Overlay;
use crate::tui::paint::{self, Column, fixed, put, right, title};
use crate::tui::screen::{Cx, Look, Screen};
use crate::tui::text::{clock, cut, id};
use crate::tui::window::{Rows, Window};

struct Source<'a> {
    reader: &'a Reader,
    filter: &'a Filter,
}

impl Rows for Source<'_> {
    type Row = BalanceRow;
    type Key = (String, String);
    type Cursor = (String, String);

    fn page(&self, page: &Page<(String, String)>) -> Result<Vec<BalanceRow>, StoreError> {
        self.reader.balances(self.filter, page)
    }

    fn find(&self, key: &(String, String)) -> Result<Option<BalanceRow>, StoreError> {
        self.reader.balance(&key.0, &key.1)
    }

    fn key(row: &BalanceRow) -> (String, String) {
        (row.account.clone(), row.currency.clone())
    }

    fn cursor(&self, row: &BalanceRow) -> (String, String) {
        (row.account.clone(), row.currency.clone())
    }
}

/// The screen.
#[derive(Default)]
pub struct Balances {
    window: Window<BalanceRow>,
    typed: String,
    filter: Filter,
    competing: Vec<EventRow>,
    journal: Vec<JournalRow>,
    height: usize,
    /// Whether charges are counted without Stripe's fees.
    gross: bool,
}

const COLUMNS: [Column; 7] = [
    Column { grow: 1, ..fixed("ACCOUNT", 12) },
    fixed("CUR", 3),
    Column { right: true, ..fixed("AVAILABLE", 14) },
    Column { right: true, ..fixed("IN FLIGHT", 14) },
    Column { right: true, drop: 2, ..fixed("PAID OUT", 14) },
    Column { right: true, drop: 3, ..fixed("RETURNED", 12) },
    Column { drop: 1, ..fixed("NOTE", 16) },
];

impl Balances {
    fn load_detail(&mut self, data: &Data) -> Result<(), StoreError> {
        (self.competing, self.journal) = (Vec::new(), Vec::new());
        let Some(row) = self.window.current() else { return Ok(()) };
        if row.competing > 0 {
            self.competing = data.reader.competing(&row.account, &row.currency)?;
        }
        let filter =
            Filter { account: Some(row.account.clone()), currency: Some(row.currency.clone()), ..Filter::default() };
        self.journal = data.reader.journal(&filter, &Page { cursor: None, before: false, limit: 20 })?;
        Ok(())
    }

    fn draw_list(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        let theme = look.theme;
        let about = if self.typed.is_empty() {
            let gross = if self.gross { "; gross: fees need a key and --confirm fetch" } else { "" };
            format!("by account and currency{gross}")
        } else {
            format!("/ {}", self.typed)
        };
        title(buf, area, 0, theme, "Balances", &about);
        let inner = Rect { x: area.x + 3, width: area.width.saturating_sub(4), ..area };
        let places = paint::layout(&COLUMNS, inner.width);
        paint::headings(buf, inner, 1, theme, &COLUMNS, &places);
        self.height = usize::from(area.height.saturating_sub(2));
        self.window.scroll_into(self.height);
        if self.window.rows.is_empty() {
            let text = if self.typed.is_empty() {
                "They appear with the first charge, transfer or opening balance:  b"
            } else {
                "No balance matches. esc clears the filter"
            };
            put(buf, inner, 0, 3, text, theme.muted);
        }
        for (y, (selected, row)) in (2..area.height).zip(self.window.visible(self.height)) {
            let base = paint::row(buf, area, y, theme, selected);
            let amount = |n: i64| Currency::parse(&row.currency).map_or_else(|_| n.to_string(), |c| c.amount(n));
            let (note, style) = note(row, look);
            let width = places[0].map_or(12, |p| usize::from(p.1));
            let cells = [
                (id(&row.account, width), base),
                (row.currency.to_ascii_uppercase(), base),
                (amount(row.available), base),
                (amount(row.in_flight), base),
                (amount(row.paid_out), base),
                (amount(row.returned), base),
                (note, style),
            ];
            paint::cells(buf, inner, y, &COLUMNS, &places, &cells);
        }
    }

    fn draw_detail(&self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        let theme = look.theme;
        let Some(row) = self.window.current() else { return };
        title(buf, area, 0, theme, &cut(&row.account, 30), &row.currency.to_ascii_uppercase());
        let figures = [
            ("posted", row.posted, "in the journal"),
            ("waiting", row.waiting, "blocked: not in the journal yet"),
            ("projected", row.projected, "posted + waiting: the same in every order"),
            ("owed", row.owed, "refunds, disputes, reversals beyond the funds"),
        ];
        let mut y = 1;
        for (name, amount, about) in figures {
            let style = if name == "owed" && amount > 0 || amount < 0 { theme.err } else { theme.text };
            put(buf, area, 2, y, name, theme.label);
            put(buf, area, 13, y, &crate::tui::text::fit_right(&show(&row.currency, amount), 18), style);
            put(buf, area, 33, y, about, theme.faint);
            y += 1;
        }
        if !row.opened {
            put(buf, area, 2, y, "never opened: b puts in the money it had before this monitor", theme.muted);
            y += 1;
        }
        y += 1;
        if !self.competing.is_empty() {
            title(buf, area, y, theme, "Who wants it", "oldest first");
            y += 1;
            for event in self.competing.iter().take(8) {
                let (glyph, style) = theme.state(&event.state);
                let x = put(buf, area, 2, y, glyph, style) + 1;
                let x = put(buf, area, x, y, &format!("{}  {}", event.kind, id(&event.object, 14)), theme.text);
                let money = event.amount.zip(event.currency.as_ref()).map(|(n, c)| show(c, n)).unwrap_or_default();
                put(buf, area, x + 2, y, &money, theme.text);
                y += 1;
            }
            y += 1;
        }
        title(buf, area, y, theme, "Last legs", "");
        for (y, leg) in (y + 1..area.height).zip(&self.journal) {
            let (sign, style) = if leg.from == row.account { ("−", theme.text) } else { ("+", theme.ok) };
            let at = clock(leg.posted_ms, look.now_ms, look.zone);
            put(buf, area, 2, y, &format!("{at}  {:<9} {}", cut(&leg.leg, 9), id(&leg.object, 16)), theme.text);
            right(buf, area, y, &format!("{sign}{} ", show(&leg.currency, leg.amount)), style);
        }
    }
}

/// The one thing to know about a balance.
fn note(row: &BalanceRow, look: Look<'_>) -> (String, ratatui::style::Style) {
    let theme = look.theme;
    if row.owed > 0 {
        (format!("! owes {}", show(&row.currency, row.owed)), theme.err)
    } else if row.competing > 0 {
        (format!("! {} wait", row.competing), theme.warn)
    } else if row.waiting != 0 {
        (format!("… {}", show(&row.currency, row.waiting)), theme.warn)
    } else if row.opened {
        ("opened".to_owned(), theme.faint)
    } else {
        (String::new(), theme.faint)
    }
}

/// Asks for an opening balance. `account` and `currency` may be empty: then they are typed too.
pub fn ask_opening(cx: &mut Cx<'_>, account: &str, currency: &str) {
    let lines = vec![
        "What it had before the first event, available and pending together, in minor units (cents).".to_owned(),
        "Posted once, kept in the audit. What waits for it goes at once.".to_owned(),
        "Type: ACCOUNT CURRENCY AMOUNT, for instance platform usd 431000".to_owned(),
    ];
    let mut overlay = Overlay::prompt("Open a balance", lines, |cx, text| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let parsed = match words.as_slice() {
            [owner, currency, amount] => Owner::parse(owner).and_then(|owner| {
                let currency = Currency::parse(&currency.to_ascii_lowercase())?;
                let amount: i64 = amount
                    .replace(['_', ','], "")
                    .parse()
                    .map_err(|_| format!("{amount:?} is not a whole number of minor units"))?;
                Ok(((owner, currency), amount))
            }),
            _ => Err("type three words: account, currency, amount".to_owned()),
        };
        match parsed.and_then(|(account, amount)| cx.data.open_balance(&account, amount)) {
            Ok(effect) => {
                cx.notices.say(Tone::Done, effect);
                cx.reload = true;
            }
            Err(why) => cx.notices.say(Tone::Error, why),
        }
    });
    if !account.is_empty() {
        overlay.paste(&format!("{account} {currency} "));
    }
    *cx.overlay = Some(overlay);
}

impl Screen for Balances {
    fn scope(&self) -> Scope {
        Scope::Balances
    }

    fn refresh(&mut self, data: &Data) -> Result<(), StoreError> {
        self.gross = data.link.stripe.as_ref().is_some_and(|side| !side.fees);
        self.window.reload(&Source { reader: &data.reader, filter: &self.filter })?;
        self.load_detail(data)
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        let (list, detail) = split::divided(area, buf, look.theme);
        self.draw_list(list, buf, look);
        let Some(pane) = detail else { return };
        self.draw_detail(pane, buf, look);
    }

    fn act(&mut self, action: Action, cx: &mut Cx<'_>) -> Result<(), StoreError> {
        let source = Source { reader: &cx.data.reader, filter: &self.filter };
        if split::moved(&mut self.window, &source, action, self.height)? {
            return self.load_detail(cx.data);
        }
        match action {
            Action::Filter => split::ask_filter(cx, &self.typed),
            Action::Back if !self.typed.is_empty() => {
                self.set_filter("");
                self.refresh(cx.data)?;
            }
            Action::OpenBalance | Action::Open => {
                let (account, currency) =
                    self.window.current().map(|row| (row.account.clone(), row.currency.clone())).unwrap_or_default();
                ask_opening(cx, &account, &currency);
            }
            Action::Export => split::export(cx, "balances", &self.window.rows),
            other => split::on_row(cx, other, self.window.current(), |row| (&row.account, "", "")),
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
