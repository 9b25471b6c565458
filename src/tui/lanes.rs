//! The timeline of a payout: deliveries in order of arrival against the states in their order. The path only moves
//! right, so any disorder is seen as a ○ hanging left of it.

use ratatui::style::Style;

use super::theme::Theme;
use crate::domain::payout::Status;
use crate::store::view::EventRow;

/// One row of the drawing: a glyph and style for each column of the lanes.
pub type Strip = Vec<(char, Style)>;

/// What one delivery means on the lanes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// The lane of the event's own status; none when it has none that we know.
    pub lane: Option<usize>,
    /// The lane the path was on before.
    pub before: Option<usize>,
    /// The lane the path is on after.
    pub after: Option<usize>,
    /// 1 for Stripe's first event of this payout.
    pub order: usize,
    /// By how many places it came late (positive) or early (negative).
    pub late: i64,
}

/// Works out the path from the rows, which stand in order of arrival.
pub fn stops(timeline: &[EventRow]) -> Vec<Stop> {
    let lane = |row: &EventRow| row.status.as_deref().and_then(Status::parse).map(place);
    let mut by_stripe: Vec<usize> = (0..timeline.len()).collect();
    by_stripe.sort_by_key(|i| {
        let row = &timeline[*i];
        let rank = row.status.as_deref().and_then(Status::parse).map_or(0, Status::rank);
        (row.created, rank, row.id.clone())
    });
    let mut path: Option<Status> = None;
    timeline
        .iter()
        .enumerate()
        .map(|(i, row)| {
            let before = path.map(place);
            let status = row.status.as_deref().and_then(Status::parse);
            let moves = match (path, status) {
                (None, Some(_)) => true,
                (Some(from), Some(to)) => from.leads_to(to),
                _ => false,
            };
            if moves {
                path = status;
            }
            let order = by_stripe.iter().position(|at| *at == i).unwrap_or(i) + 1;
            let late = i64::try_from(i + 1).unwrap_or(0) - i64::try_from(order).unwrap_or(0);
            Stop { lane: lane(row), before, after: path.map(place), order, late }
        })
        .collect()
}

/// A status's lane: the states in rank order, failed and canceled side by side.
fn place(status: Status) -> usize {
    Status::ALL.iter().position(|s| *s == status).unwrap_or(0)
}

/// Draws one delivery; every lane is `width` columns wide.
pub fn strip(row: &EventRow, stop: &Stop, width: usize, theme: &Theme) -> Strip {
    let at = |lane: usize| lane * width + width / 2;
    let mut strip: Strip = vec![(' ', theme.faint); width * Status::ALL.len()];
    for lane in 0..Status::ALL.len() {
        strip[at(lane)] = ('·', theme.faint);
    }
    let fill = |strip: &mut Strip, from: usize, to: usize, glyph: char, style: Style| {
        for cell in strip.iter_mut().take(to).skip(from) {
            *cell = (glyph, style);
        }
    };
    let moved = stop.after != stop.before;
    match (stop.before, stop.lane) {
        (None, Some(lane)) if moved => strip[at(lane)] = dot(row, theme),
        (Some(before), Some(lane)) if moved => {
            strip[at(before)] = ('╰', theme.path);
            fill(&mut strip, at(before) + 1, at(lane), '─', theme.path);
            strip[at(lane)] = dot(row, theme);
        }
        (Some(before), Some(lane)) if lane < before => {
            strip[at(lane)] = ('○', theme.ghost);
            fill(&mut strip, at(lane) + 1, at(before), '┄', theme.ghost);
            strip[at(before)] = ('│', theme.path);
        }
        (Some(before), Some(lane)) if lane > before => {
            strip[at(before)] = ('│', theme.path);
            strip[at(lane)] = ('✗', theme.err);
        }
        (Some(before), _) => {
            strip[at(before)] = if row.state == "applied" { ('∙', theme.path) } else { ('│', theme.path) };
        }
        _ => {}
    }
    strip
}

/// The last row: where the payout stands.
pub fn now(status: &str, width: usize, theme: &Theme) -> Strip {
    let mut strip: Strip = vec![(' ', theme.faint); width * Status::ALL.len()];
    if let Some(status) = Status::parse(status) {
        strip[place(status) * width + width / 2] = ('◆', theme.path);
    }
    strip
}

fn dot(row: &EventRow, theme: &Theme) -> (char, Style) {
    match row.state.as_str() {
        "waiting" => ('…', theme.warn),
        "stuck" => ('!', theme.err),
        _ => ('●', theme.path),
    }
}

/// What the payout would be shown as if the last delivery always won; none when that is what we show.
pub fn last_write_wins(timeline: &[EventRow], status: &str) -> Option<String> {
    // A repeat is a delivery too: the newest delivery decides.
    let last = timeline.iter().filter(|row| row.status.is_some()).max_by_key(|row| (row.last_ms, row.seq))?;
    last.status.clone().filter(|theirs| theirs != status)
}

/// `1st`, `2nd`, `3rd`, `4th`, with ▼ for late and ▲ for early.
pub fn order(stop: &Stop) -> String {
    let n = stop.order;
    let suffix = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    let mark = match stop.late {
        0 => "",
        1.. => "▼",
        _ => "▲",
    };
    format!("{n}{suffix}{mark}")
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A row of a payout's timeline for tests.
    pub fn row(seq: i64, status: &str, created: i64, state: &str) -> EventRow {
        EventRow {
            seq,
            id: format!("evt_{seq}"),
            kind: format!("payout.{status}"),
            account: "platform".into(),
            object: "po_1".into(),
            status: Some(status.into()),
            amount: Some(1_000),
            currency: Some("usd".into()),
            created,
            first_ms: seq * 100,
            last_ms: seq * 100,
            deliveries: 1,
            state: state.into(),
            reason: None,
            attempts: 0,
            next_ms: None,
            needs: None,
            effect: None,
            settled_ms: None,
        }
    }

    fn drawn(rows: &[EventRow]) -> Vec<String> {
        let theme = Theme::named("mono").unwrap();
        let stops = stops(rows);
        rows.iter().zip(&stops).map(|(r, s)| strip(r, s, 3, &theme).into_iter().map(|(c, _)| c).collect()).collect()
    }

    #[test]
    fn the_path_only_moves_right_and_late_news_hangs_left_of_it() {
        let rows = [
            row(1, "paid", 30, "applied"),
            row(2, "pending", 10, "skipped"),
            row(3, "in_transit", 20, "skipped"),
            row(4, "canceled", 35, "stuck"),
            row(5, "failed", 40, "applied"),
            row(6, "failed", 41, "applied"),
        ];
        assert_eq!(
            drawn(&rows),
            [
                " ·  ·  ●  ·  · ",
                " ○┄┄┄┄┄│  ·  · ",
                " ·  ○┄┄│  ·  · ",
                " ·  ·  │  ·  ✗ ",
                " ·  ·  ╰──●  · ",
                " ·  ·  ·  ∙  · ",
            ]
        );
        let orders: Vec<String> = stops(&rows).iter().map(order).collect();
        assert_eq!(orders, ["3rd▲", "1st▼", "2nd▼", "4th", "5th", "6th"]);
        assert_eq!(last_write_wins(&rows[..3], "paid"), Some("in_transit".to_owned()));
        assert_eq!(last_write_wins(&rows, "failed"), None);
    }
}
