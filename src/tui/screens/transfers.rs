//! Tab 5: outgoing transfers, and retry and cancel. What an order's transfer is about stands beside the list.

use std::sync::OnceLock;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{split, transfer};
use crate::domain::money::show;
use crate::domain::transfer::intent::State;
use crate::domain::transfer::person::Retried;
use crate::guard::tell::Shown;
use crate::lab::guards;
use crate::store::error::StoreError;
use crate::store::read::{Reader, TransferDetail};
use crate::store::transfers::TransferRow;
use crate::store::view::{Filter, Page};
use crate::tui::action::{Action, Scope};
use crate::tui::data::Data;
use crate::tui::filter;
use crate::tui::notices::Tone;
use crate::tui::overlay::Overlay;
use crate::tui::paint::{self, Column, fixed, put, right, title};
use crate::tui::screen::{Cx, Look, Screen};
use crate::tui::text::{id, number};
use crate::tui::theme::Theme;
use crate::tui::window::{Rows, Window};

struct Source<'a> {
    reader: &'a Reader,
    filter: &'a Filter,
}

impl Rows for Source<'_> {
    type Row = TransferRow;
    type Key = i64;
    type Cursor = i64;

    fn page(&self, page: &Page<i64>) -> Result<Vec<TransferRow>, StoreError> {
        self.reader.transfers(self.filter, page)
    }

    fn find(&self, key: &i64) -> Result<Option<TransferRow>, StoreError> {
        let row = self.reader.transfer_by_key(*key)?;
        let states = &self.filter.states;
        Ok(row.filter(|row| states.is_empty() || states.iter().any(|s| s == row.intent.state.as_str())))
    }

    fn key(row: &TransferRow) -> i64 {
        row.key
    }

    fn cursor(&self, row: &TransferRow) -> i64 {
        row.key
    }
}

/// The screen.
#[derive(Default)]
pub struct Transfers {
    window: Window<TransferRow>,
    typed: String,
    filter: Filter,
    detail: Option<TransferDetail>,
    counts: Vec<(State, i64)>,
    height: usize,
}

const COLUMNS: [Column; 6] = [
    fixed("STATE", 13),
    Column { right: true, ..fixed("AMOUNT", 14) },
    Column { grow: 1, ..fixed("ORDER", 12) },
    Column { drop: 3, ..fixed("TO", 12) },
    Column { drop: 2, ..fixed("KEY", 3) },
    Column { grow: 2, drop: 1, ..fixed("WHAT WE KNOW", 14) },
];

/// The glyph and style of a transfer's state.
pub(super) fn state(theme: &Theme, state: State) -> (&'static str, Style) {
    match state {
        State::Queued => ("◦", theme.info),
        State::Sending => ("▸", theme.info),
        State::Unknown => ("?", theme.warn),
        State::Sent | State::Adopted => ("✓", theme.ok),
        State::Rejected => ("✗", theme.err),
        State::Conflict | State::DeadLetter => ("!", theme.err),
        State::Reversed => ("↺", theme.muted),
        State::Canceled => ("×", theme.faint),
    }
}

impl Transfers {
    fn load_detail(&mut self, data: &Data) -> Result<(), StoreError> {
        self.detail = match self.window.current() {
            Some(row) => data.reader.transfer_detail(&row.order.order_ref)?,
            None => None,
        };
        Ok(())
    }

    fn draw_list(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        let theme = look.theme;
        let what = if self.typed.is_empty() {
            "each order is paid at most once".to_owned()
        } else {
            format!("/ {}", self.typed)
        };
        title(buf, area, 0, theme, "Transfers", &what);
        let looks: i64 = self.counts.iter().filter(|(state, _)| state.needs_person()).map(|(_, n)| n).sum();
        let style = if looks > 0 { theme.err } else { theme.muted };
        right(buf, area, 0, &format!("{} need a person ", number(looks)), style);
        let inner = Rect { x: area.x + 3, width: area.width.saturating_sub(4), ..area };
        let places = paint::layout(&COLUMNS, inner.width);
        paint::headings(buf, inner, 1, theme, &COLUMNS, &places);
        self.height = usize::from(area.height.saturating_sub(2));
        self.window.scroll_into(self.height);
        if self.window.rows.is_empty() && self.typed.is_empty() {
            put(buf, inner, 0, 3, "Nothing is to be paid yet. From a shell:", theme.muted);
            let line = "payout-ledger transfer create --order NAME --amount 1250 --currency usd --destination acct_…";
            put(buf, inner, 0, 4, line, theme.text);
        } else if self.window.rows.is_empty() {
            put(buf, inner, 0, 3, "No order matches. esc clears the filter", theme.muted);
        }
        for (y, (selected, row)) in (2..area.height).zip(self.window.visible(self.height)) {
            let base = paint::row(buf, area, y, theme, selected);
            let (glyph, style) = state(theme, row.intent.state);
            let shown = Shown::new(row);
            let cells = [
                (format!("{glyph} {}", words(row.intent.state)), style),
                (show(&shown.currency, shown.amount), base),
                (shown.order, base),
                (id(&shown.destination, 12), base),
                (format!("v{}", shown.version), base),
                (shown.what_we_know, base),
            ];
            paint::cells(buf, inner, y, &COLUMNS, &places, &cells);
        }
    }

    /// Asks before a retry: in test mode yes or no, in live mode the amount typed again.
    fn ask_retry(&self, cx: &mut Cx<'_>) {
        let Some(row) = self.window.current() else { return };
        // The rules say what it would do, before anybody is asked.
        let how = match row.intent.retried(row.intent.version, cx.look.now_ms) {
            Ok((_, how)) => how,
            Err(why) => return cx.notices.say(Tone::Warn, format!("{}: {why}", row.order.order_ref)),
        };
        let money = show(row.order.currency.as_str(), row.order.amount);
        let mut lines = vec![
            format!("{money} to {}, order {}", row.order.destination, row.order.order_ref),
            match how {
                Retried::NewKey => format!(
                    "Stripe refused v{} for good. It looks again, then asks with the new key v{}.",
                    row.intent.version,
                    row.intent.version + 1
                ),
                Retried::SameKey => {
                    "It looks at Stripe first; only if nothing is there it asks, with the same key.".into()
                }
                Retried::Nudged => "It is in the queue already: due now, still one job.".into(),
            },
        ];
        let (order, version, amount) = (row.order.order_ref.clone(), row.intent.version, row.order.amount);
        let heading = format!("Retry {order}?");
        if cx.data.is_live() {
            lines.push(format!("LIVE money. Type the amount again ({amount}, in the smallest unit):"));
            *cx.overlay = Some(Overlay::prompt(&heading, lines, move |cx, typed| {
                if typed.trim() == amount.to_string() {
                    retry(cx, &order, version);
                } else {
                    cx.notices.say(Tone::Warn, "not retried: the amount is another");
                }
            }));
        } else {
            *cx.overlay = Some(Overlay::confirm(&heading, lines, "Retry", move |cx| retry(cx, &order, version)));
        }
    }

    fn ask_cancel(&self, cx: &mut Cx<'_>) {
        let Some(row) = self.window.current() else { return };
        if let Err(why) = row.intent.canceled("") {
            return cx.notices.say(Tone::Warn, format!("{}: {why}", row.order.order_ref));
        }
        let order = row.order.order_ref.clone();
        let lines = vec![
            "Nothing was sent, and nothing will be. An order's name is used once: to pay it later make another."
                .to_owned(),
            "Reason, kept in the audit:".to_owned(),
        ];
        let heading = format!("Cancel {order}?");
        *cx.overlay = Some(Overlay::prompt(&heading, lines, move |cx, reason| {
            if reason.trim().is_empty() {
                return cx.notices.say(Tone::Warn, "not canceled: give a reason");
            }
            match cx.data.cancel_transfer(&order, reason.trim()) {
                Ok(_) => cx.notices.say(Tone::Done, format!("{order} is canceled")),
                Err(why) => cx.notices.say(Tone::Error, why),
            }
            cx.reload = true;
        }));
    }
}

/// The table of `lab guards`, worked out once.
pub fn why_guards() -> Overlay {
    static TABLE: OnceLock<String> = OnceLock::new();
    let text = TABLE.get_or_init(|| guards::table().map_or_else(|why| why, |table| guards::text(&table)));
    Overlay::text("Why five guards", text.lines().map(str::to_owned).collect())
}

fn retry(cx: &mut Cx<'_>, order: &str, version: i64) {
    match cx.data.retry_transfer(order, version) {
        Ok((row, _)) => {
            let shown = Shown::new(&row);
            let text = format!("{order}: due now with {}; the worker with the API key sends it", shown.idempotency_key);
            cx.notices.say(Tone::Done, text);
        }
        Err(why) => cx.notices.say(Tone::Warn, why),
    }
    cx.reload = true;
}

/// The state's word as people read it.
pub(super) fn words(state: State) -> String {
    state.as_str().replace('_', " ")
}

impl Screen for Transfers {
    fn scope(&self) -> Scope {
        Scope::Transfers
    }

    fn refresh(&mut self, data: &Data) -> Result<(), StoreError> {
        self.counts = data.reader.transfer_counts()?;
        self.window.reload(&Source { reader: &data.reader, filter: &self.filter })?;
        self.load_detail(data)
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        let (list, detail) = split::divided(area, buf, look.theme);
        self.draw_list(list, buf, look);
        let Some(pane) = detail else { return };
        if let Some(detail) = &self.detail {
            transfer::draw(pane, buf, look, detail);
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
                let states = ["rejected", "conflict", "dead_letter", "unknown", "queued", "sent", "adopted"];
                self.set_filter(&split::cycle(&self.typed, &states));
                self.refresh(cx.data)?;
            }
            Action::Back if !self.typed.is_empty() => {
                self.set_filter("");
                self.refresh(cx.data)?;
            }
            Action::Retry => self.ask_retry(cx),
            Action::Cancel => self.ask_cancel(cx),
            Action::Open => {
                if let Some(detail) = &self.detail {
                    *cx.overlay = Some(transfer::everything(detail, cx.look));
                }
            }
            Action::Export => {
                let rows: Vec<Shown> = self.window.rows.iter().map(Shown::new).collect();
                split::export(cx, "transfers", &rows);
            }
            _ => {
                let Some(row) = self.window.current() else {
                    cx.unused = true;
                    return Ok(());
                };
                match (action, &row.intent.transfer) {
                    (Action::Copy, transfer) => split::copy(cx, transfer.as_ref().unwrap_or(&row.order.order_ref)),
                    (Action::CopyJson, _) => split::copy_json(cx, &Shown::new(row)),
                    (Action::Dashboard, Some(transfer)) => split::dashboard(cx, "", transfer),
                    _ => cx.unused = true,
                }
            }
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
