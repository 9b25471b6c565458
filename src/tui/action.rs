//! One table of actions: it drives the keys, the footer, the help and the palette.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Where keys are pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the screens")]
pub enum Scope {
    Everywhere,
    FirstRun,
    Payouts,
    Payout,
    Balances,
    Inbox,
    Events,
    Transfers,
    Lab,
    Raw,
}

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table below says what each does")]
pub enum Action {
    Quit,
    Tab(usize),
    NextTab,
    PreviousTab,
    Down,
    Up,
    Left,
    Right,
    HalfDown,
    HalfUp,
    PageDown,
    PageUp,
    First,
    Last,
    Open,
    Back,
    Filter,
    CycleState,
    Sort,
    Reverse,
    Mark,
    MarkAll,
    Retry,
    RetryShown,
    DryRun,
    Dismiss,
    Undo,
    OpenBalance,
    Copy,
    CopyJson,
    Export,
    Dashboard,
    Raw,
    PreviousRow,
    NextRow,
    ToggleView,
    StripeOrder,
    Secret,
    Listen,
    Backfill,
    Reconcile,
    Repair,
    OpenFromStripe,
    Zone,
    Freeze,
    Palette,
    Help,
    Notices,
    Alerts,
    Log,
    Repaint,
    Suspend,
    Lower,
    Raise,
    Shuffle,
    Scenario,
    Prove,
    Rules,
    Guards,
    Cancel,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// What it does.
    pub action: Action,
    /// Its keys, the first of them shown.
    pub keys: &'static [&'static str],
    /// In the footer; empty when it is not shown there.
    pub short: &'static str,
    /// In the help and the palette.
    pub about: &'static str,
    /// Where it works.
    pub scopes: &'static [Scope],
}

const fn row(
    action: Action,
    keys: &'static [&'static str],
    short: &'static str,
    about: &'static str,
    scopes: &'static [Scope],
) -> Binding {
    Binding { action, keys, short, about, scopes }
}

use Scope::{Balances, Events, Everywhere, FirstRun, Inbox, Lab, Payout, Payouts, Raw, Transfers};

const LISTS: &[Scope] = &[Payouts, Balances, Inbox, Events, Transfers];

/// The table. Earlier rows win where keys meet.
pub const BINDINGS: &[Binding] = &[
    row(Action::Secret, &["S"], "secret", "Paste a signing secret", &[FirstRun]),
    row(Action::Copy, &["y"], "copy", "Copy the forwarding command", &[FirstRun]),
    row(Action::Open, &["enter"], "open", "Open the selected row", &[Payouts, Balances, Inbox, Events, Transfers]),
    row(Action::Retry, &["r"], "retry", "Try the selected or marked again; costs no attempt", &[Inbox]),
    row(Action::Retry, &["r"], "retry", "Try the order again; it cannot pay twice", &[Transfers]),
    row(Action::Dismiss, &["d"], "dismiss", "Put the selected or marked aside, with a reason", &[Inbox]),
    row(Action::Undo, &["u"], "undo", "Take back the last dismiss, or the selected dismissed row", &[Inbox]),
    row(Action::DryRun, &["x"], "dry run", "Say what a retry would do now", &[Inbox]),
    row(
        Action::OpenBalance,
        &["b"],
        "open balance",
        "Open the balance with the money it had before",
        &[Inbox, Balances],
    ),
    row(Action::RetryShown, &["R"], "retry shown", "Try everything shown again", &[Inbox]),
    row(Action::Mark, &["space"], "mark", "Mark the row", &[Inbox]),
    row(Action::MarkAll, &["a"], "", "Mark all rows in view", &[Inbox]),
    row(Action::ToggleView, &["v"], "events/journal", "Switch between events and the money journal", &[Events]),
    row(Action::Filter, &["/"], "filter", "Filter: text, state:…, account:…, currency:…, type:…, object:…", LISTS),
    row(Action::CycleState, &["f"], "state", "Show the next state only", &[Payouts, Inbox, Events, Transfers]),
    row(Action::Sort, &["s"], "sort", "Sort by the next column", &[Payouts]),
    row(Action::Reverse, &["S"], "", "Turn the sort round", &[Payouts, Events]),
    row(
        Action::StripeOrder,
        &["x"],
        "Stripe order",
        "Show the events in Stripe's order, or in order of arrival",
        &[Payout],
    ),
    row(Action::PreviousRow, &["["], "previous", "The payout before", &[Payout]),
    row(Action::NextRow, &["]"], "next", "The payout after", &[Payout]),
    row(Action::Left, &["left", "h"], "step", "One delivery back", &[Lab]),
    row(Action::Right, &["right", "l"], "", "One delivery on", &[Lab]),
    row(Action::NextRow, &["]"], "", "The next order", &[Lab]),
    row(Action::PreviousRow, &["["], "order", "The order before", &[Lab]),
    row(Action::Open, &["enter"], "a wrong order", "The next order in which this rule is wrong", &[Lab]),
    row(Action::Scenario, &["s"], "scenario", "The next scenario", &[Lab]),
    row(Action::Shuffle, &["x"], "shuffle", "Another order, by the next seed", &[Lab]),
    row(Action::Lower, &["J"], "", "Move this delivery down", &[Lab]),
    row(Action::Raise, &["K"], "move", "Move this delivery up", &[Lab]),
    row(Action::Rules, &["t"], "rules", "Switch our own rules off, one after the other", &[Lab]),
    row(Action::Prove, &["P"], "prove", "Try random histories", &[Lab]),
    row(Action::Guards, &["w"], "guards", "Why five guards: each switched off in turn", &[Transfers, Lab]),
    row(Action::Cancel, &["c"], "cancel", "Cancel before it is sent", &[Transfers]),
    row(Action::Raw, &["J"], "raw", "The event's body as it was received", &[Payouts, Payout, Inbox, Events]),
    row(Action::Copy, &["y"], "copy", "Copy the id", &[Payouts, Payout, Balances, Inbox, Events, Transfers, Raw]),
    row(Action::CopyJson, &["Y"], "", "Copy the row as JSON", &[Payouts, Payout, Balances, Inbox, Events, Transfers]),
    row(Action::Export, &["e"], "export", "Write what is shown to a file", LISTS),
    row(
        Action::Dashboard,
        &["o"],
        "",
        "Copy the object's address in the Stripe dashboard",
        &[Payouts, Payout, Inbox, Events, Transfers],
    ),
    row(Action::Back, &["esc"], "back", "Close, or clear the filter", &[Payout, Raw]),
    row(Action::Back, &["esc"], "", "Close, or clear the filter", &[Everywhere]),
    row(Action::Down, &["j", "down"], "", "Down", &[Everywhere]),
    row(Action::Up, &["k", "up"], "", "Up", &[Everywhere]),
    row(Action::First, &["g", "home"], "", "First row; follow what comes", &[Everywhere]),
    row(Action::Last, &["G", "end"], "", "Last row", &[Everywhere]),
    row(Action::HalfDown, &["ctrl-d"], "", "Half a page down", &[Everywhere]),
    row(Action::HalfUp, &["ctrl-u"], "", "Half a page up", &[Everywhere]),
    row(Action::PageDown, &["pagedown"], "", "A page down", &[Everywhere]),
    row(Action::PageUp, &["pageup"], "", "A page up", &[Everywhere]),
    row(Action::Tab(0), &["1"], "", "Payouts", &[Everywhere]),
    row(Action::Tab(1), &["2"], "", "Balances", &[Everywhere]),
    row(Action::Tab(2), &["3"], "", "Inbox", &[Everywhere]),
    row(Action::Tab(3), &["4"], "", "Events and the journal", &[Everywhere]),
    row(Action::Tab(4), &["5"], "", "Transfers", &[Everywhere]),
    row(Action::Tab(5), &["6"], "", "Ordering lab", &[Everywhere]),
    row(Action::NextTab, &["tab"], "", "Next tab", &[Everywhere]),
    row(Action::PreviousTab, &["backtab"], "", "Previous tab", &[Everywhere]),
    row(Action::Listen, &["L"], "", "Start or stop `stripe listen`", &[Everywhere]),
    row(Action::Backfill, &["B"], "", "Fetch the events that were missed (needs an API key)", &[Everywhere]),
    row(Action::Reconcile, &["C"], "", "Compare with Stripe's record (needs an API key)", &[Everywhere]),
    row(Action::Repair, &["X"], "", "Repair from Stripe's record what differs (needs an API key)", &[Everywhere]),
    row(Action::OpenFromStripe, &["O"], "", "Open every balance from Stripe's own (needs an API key)", &[Everywhere]),
    row(Action::Zone, &["z"], "", "Times in local time or UTC", &[Everywhere]),
    row(Action::Freeze, &["p"], "", "Hold the screen still; receiving goes on", &[Everywhere]),
    row(Action::Notices, &["N"], "", "What was said so far", &[Everywhere]),
    row(
        Action::Alerts,
        &["A"],
        "",
        "What deserves a look: failed and late payouts, stuck events, findings",
        &[Everywhere],
    ),
    row(Action::Log, &["!"], "", "What was refused, and why", &[Everywhere]),
    row(Action::Palette, &[":", "ctrl-p"], "palette", "Every action by its name", &[Everywhere]),
    row(Action::Help, &["?"], "help", "The keys of this place", &[Everywhere]),
    row(Action::Repaint, &["ctrl-l"], "", "Draw everything again", &[Everywhere]),
    row(Action::Suspend, &["ctrl-z"], "", "Suspend", &[Everywhere]),
    row(Action::Quit, &["q", "ctrl-c"], "quit", "Quit", &[Everywhere]),
];

impl Binding {
    /// Whether it works there.
    pub fn works_in(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Everywhere)
    }

    /// Whether it belongs to that place and not to everywhere.
    pub fn is_local(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}

/// What a key does in a place.
pub fn find(key: &KeyEvent, scope: Scope) -> Option<Action> {
    let name = name(key)?;
    BINDINGS.iter().find(|b| b.works_in(scope) && b.keys.contains(&name.as_str())).map(|b| b.action)
}

/// A key as the table writes it.
fn name(key: &KeyEvent) -> Option<String> {
    let plain = match key.code {
        KeyCode::Char(' ') => "space".to_owned(),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::Enter => "enter".to_owned(),
        KeyCode::Esc => "esc".to_owned(),
        KeyCode::Tab => "tab".to_owned(),
        KeyCode::BackTab => "backtab".to_owned(),
        KeyCode::Up => "up".to_owned(),
        KeyCode::Down => "down".to_owned(),
        KeyCode::Left => "left".to_owned(),
        KeyCode::Right => "right".to_owned(),
        KeyCode::Home => "home".to_owned(),
        KeyCode::End => "end".to_owned(),
        KeyCode::PageUp => "pageup".to_owned(),
        KeyCode::PageDown => "pagedown".to_owned(),
        _ => return None,
    };
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return Some(format!("ctrl-{}", plain.to_ascii_lowercase()));
    }
    if key.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    Some(plain)
}

/// A key as a person reads it.
pub fn shown(key: &str) -> &str {
    match key {
        "enter" => "↵",
        "up" => "↑",
        "down" => "↓",
        "left" => "←",
        "right" => "→",
        "backtab" => "shift-tab",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_two_meanings_in_one_place() {
        for scope in [FirstRun, Payouts, Payout, Balances, Inbox, Events, Transfers, Lab, Raw] {
            let mut seen: Vec<&str> = Vec::new();
            for binding in BINDINGS.iter().filter(|b| b.is_local(scope)) {
                for key in binding.keys {
                    assert!(!seen.contains(key), "{key} twice in {scope:?}");
                    seen.push(key);
                }
            }
        }
    }

    #[test]
    fn local_keys_come_before_general_ones() {
        let key = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
        assert_eq!(find(&key('J'), Inbox), Some(Action::Raw));
        assert_eq!(find(&key('J'), Lab), Some(Action::Lower));
        assert_eq!(find(&key('q'), Inbox), Some(Action::Quit));
        assert_eq!(find(&KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL), Lab), Some(Action::Quit));
        assert_eq!(find(&KeyEvent::new(KeyCode::Char('d'), KeyModifiers::ALT), Inbox), None);
    }
}
