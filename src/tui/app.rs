//! The screen's state, and what keys and changes do to it. Knows no terminal: tests drive it as the event loop does.

use crossterm::event::{Event, KeyEvent, KeyEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use secrecy::SecretString;

use super::action::{self, Action, Scope};
use super::data::Data;
use super::frame::{self, Head, SMALLEST, TABS};
use super::notices::{Notices, Tone};
use super::overlay::{Alerts, Outcome, Overlay};
use super::pulse::Pulse;
use super::screen::{Cx, Look, Screen};
use super::screens::{balances, events, first_run, inbox, lab, payouts, transfers};
use super::text::{Zone, clock};
use super::theme::Theme;
use crate::daemon::stripe_side::{Command, Status};
use crate::store::error::StoreError;
use crate::store::view::Summary;

/// What the event loop must do after an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Nothing but draw.
    None,
    /// Leave.
    Quit,
    /// Give the terminal back and stop until continued.
    Suspend,
    /// Draw everything anew.
    Repaint,
    /// Put text on the clipboard.
    Copy(String),
    /// Tell the Stripe side.
    Stripe(Command),
}

/// The whole screen.
pub struct App {
    /// Below the screens.
    pub data: Data,
    theme: Theme,
    zone: Zone,
    tabs: Vec<Box<dyn Screen>>,
    tab: usize,
    overlay: Option<Overlay>,
    notices: Notices,
    summary: Summary,
    pulse: Pulse,
    /// The number of events when the screen was frozen.
    frozen: Option<i64>,
    /// Whether leaving stops a receiver, so that it is asked.
    owns_receiver: bool,
    /// Whether the question about quitting is open: the key again means yes.
    asked_to_quit: bool,
    /// The last thing that could not be read.
    failure: Option<String>,
}

impl App {
    /// An app on the first tab. Nothing is read yet.
    pub fn new(data: Data, theme: Theme) -> Self {
        let owns_receiver = data.link.endpoint.is_some();
        Self {
            data,
            theme,
            zone: Zone::default(),
            tabs: vec![
                Box::new(payouts::Payouts::default()),
                Box::new(balances::Balances::default()),
                Box::new(inbox::Inbox::default()),
                Box::new(events::EventsAndJournal::default()),
                Box::new(transfers::Transfers::default()),
                Box::new(lab::Lab::default()),
            ],
            tab: 0,
            overlay: None,
            notices: Notices::default(),
            summary: Summary::default(),
            pulse: Pulse::default(),
            frozen: None,
            owns_receiver,
            asked_to_quit: false,
            failure: None,
        }
    }

    /// Says something in the toast line.
    pub fn say(&mut self, tone: Tone, text: impl Into<String>) {
        self.notices.say(tone, text);
    }

    /// Times in UTC, for pictures that are the same everywhere.
    pub fn use_utc(&mut self) {
        self.zone = Zone::Utc;
    }

    /// Reads again after something changed.
    pub fn refresh(&mut self, now_ms: i64) {
        let result = self.read(now_ms);
        self.note(result);
    }

    fn read(&mut self, now_ms: i64) -> Result<(), StoreError> {
        self.summary = self.data.reader.summary()?;
        self.pulse.observe(self.summary.events, now_ms);
        if self.frozen.is_none()
            && let Some(screen) = self.tabs.get_mut(self.tab)
        {
            screen.refresh(&self.data)?;
        }
        Ok(())
    }

    /// A store that cannot be read is said once, and again only when the words change.
    fn note(&mut self, result: Result<(), StoreError>) {
        match result {
            Ok(()) => self.failure = None,
            Err(error) => {
                let text = error.to_string();
                if self.failure.as_ref() != Some(&text) {
                    self.notices.say(Tone::Error, text.clone());
                    self.failure = Some(text);
                }
            }
        }
    }

    /// Says what the Stripe side came to.
    pub fn stripe_news(&mut self, before: Option<Status>, after: Option<Status>) {
        if let Some(after) = after {
            super::news::tell(&mut self.notices, &before.unwrap_or_default(), &after);
        }
    }

    /// Open alerts that nobody has acknowledged.
    pub fn alerts(&self) -> i64 {
        self.summary.alerts
    }

    /// Whether time alone changes the picture, and when next. Unix milliseconds.
    pub fn next_tick(&self, now_ms: i64) -> Option<i64> {
        let pulse = self.pulse.moves(now_ms).then_some(now_ms + 1_000);
        [pulse, self.notices.until(now_ms)].into_iter().flatten().min()
    }

    /// The window's title.
    pub fn title(&self) -> String {
        let mode = if self.data.is_live() { "LIVE" } else { "TEST" };
        match self.summary.inbox.stuck {
            0 => format!("payout-ledger {mode}"),
            n => format!("payout-ledger {mode} {n} stuck"),
        }
    }

    /// Handles an input.
    pub fn input(&mut self, event: &Event, now_ms: i64) -> Effect {
        crate::daemon::rehearse_panic("screen");
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(key, now_ms),
            Event::Paste(text) => {
                if let Some(overlay) = &mut self.overlay {
                    overlay.paste(text);
                }
                Effect::None
            }
            _ => Effect::None,
        }
    }

    fn scope(&self) -> Scope {
        if self.tab == 0 && self.is_first_run() {
            return Scope::FirstRun;
        }
        self.tabs.get(self.tab).map_or(Scope::Everywhere, |s| s.scope())
    }

    fn is_first_run(&self) -> bool {
        self.summary.payouts == 0 && self.tabs.first().and_then(|s| s.filter()).is_none_or(str::is_empty)
    }

    fn key(&mut self, key: &KeyEvent, now_ms: i64) -> Effect {
        self.notices.seen();
        if self.asked_to_quit && self.overlay.is_some() && action::find(key, Scope::Everywhere) == Some(Action::Quit) {
            return Effect::Quit;
        }
        let Some(overlay) = &mut self.overlay else {
            self.asked_to_quit = false;
            return match action::find(key, self.scope()) {
                Some(action) => self.act(action, now_ms),
                None => Effect::None,
            };
        };
        match overlay.key(key) {
            Outcome::Open => Effect::None,
            Outcome::Closed => {
                self.overlay = None;
                Effect::None
            }
            Outcome::Answer(answer, text) => {
                self.overlay = None;
                self.with(now_ms, |_, cx| {
                    answer(cx, text);
                    Ok(())
                })
            }
            Outcome::Do(Action::Copy) => {
                let text = match self.overlay.take() {
                    Some(Overlay::Text { copy, .. }) => copy,
                    _ => String::new(),
                };
                self.notices.say(Tone::Done, "copied");
                Effect::Copy(text)
            }
            Outcome::Do(action) => {
                self.overlay = None;
                self.act(action, now_ms)
            }
        }
    }

    /// Runs something with everything it may touch, then does what it asked for.
    fn with(
        &mut self,
        now_ms: i64,
        work: impl FnOnce(&mut dyn Screen, &mut Cx<'_>) -> Result<(), StoreError>,
    ) -> Effect {
        let Self { data, theme, zone, tabs, tab, overlay, notices, .. } = self;
        let Some(screen) = tabs.get_mut(*tab) else { return Effect::None };
        let look = Look { theme, now_ms, zone: *zone };
        let mut cx = Cx {
            data,
            notices,
            overlay,
            look,
            reload: false,
            unused: false,
            copied: None,
            typed_filter: None,
            quit: false,
        };
        let result = work(screen.as_mut(), &mut cx);
        let (reload, quit, copied, typed) = (cx.reload, cx.quit, cx.copied.take(), cx.typed_filter.take());
        if let Some(typed) = &typed {
            screen.set_filter(typed);
        }
        self.note(result);
        if reload || typed.is_some() {
            self.refresh(now_ms);
        }
        if quit { Effect::Quit } else { copied.map_or(Effect::None, Effect::Copy) }
    }

    fn act(&mut self, action: Action, now_ms: i64) -> Effect {
        match action {
            Action::Quit => return self.quit(),
            Action::Suspend => return Effect::Suspend,
            Action::Repaint => return Effect::Repaint,
            Action::Listen => return Effect::Stripe(Command::ToggleListen),
            Action::Backfill => return Effect::Stripe(Command::Backfill),
            Action::Reconcile => return Effect::Stripe(Command::Reconcile { repair: false }),
            Action::Repair => return Effect::Stripe(Command::Reconcile { repair: true }),
            Action::OpenFromStripe => return Effect::Stripe(Command::OpenBalances),
            Action::Tab(tab) => self.go(tab, now_ms),
            Action::NextTab => self.go((self.tab + 1) % TABS.len(), now_ms),
            Action::PreviousTab => self.go((self.tab + TABS.len() - 1) % TABS.len(), now_ms),
            Action::Zone => {
                self.zone = if self.zone == Zone::Local { Zone::Utc } else { Zone::Local };
                let zone = if self.zone == Zone::Utc { "UTC" } else { "local time" };
                self.notices.say(Tone::Done, format!("times in {zone}"));
            }
            Action::Freeze => {
                self.frozen = if self.frozen.is_some() { None } else { Some(self.summary.events) };
                self.refresh(now_ms);
            }
            Action::Help => self.actions(true),
            Action::Palette => self.actions(false),
            Action::Notices => {
                let lines =
                    self.notices.history().map(|n| format!("{}  {}", clock(n.at_ms, now_ms, self.zone), n.text));
                let mut lines: Vec<String> = lines.collect();
                if lines.is_empty() {
                    lines.push("nothing was said yet".to_owned());
                }
                self.overlay = Some(Overlay::text("What was said", lines));
            }
            Action::Alerts => match Alerts::read(&self.data, 0) {
                Ok(alerts) => self.overlay = Some(Overlay::Alerts(alerts)),
                Err(error) => self.note(Err(error)),
            },
            Action::Log => self.rejections(now_ms),
            Action::Secret => self.ask_secret(),
            Action::Guards => self.overlay = Some(transfers::why_guards()),
            Action::Copy if self.scope() == Scope::FirstRun => {
                let command = first_run::forward_command(&self.data);
                self.notices.say(Tone::Done, format!("copied {command}"));
                return Effect::Copy(command);
            }
            other => return self.with(now_ms, |screen, cx| screen.act(other, cx)),
        }
        Effect::None
    }

    fn go(&mut self, tab: usize, now_ms: i64) {
        self.tab = tab.min(TABS.len() - 1);
        self.refresh(now_ms);
    }

    fn actions(&mut self, help: bool) {
        self.overlay =
            Some(Overlay::Actions { scope: self.scope(), input: tui_input::Input::default(), selected: 0, help });
    }

    /// Leaving stops the receiver: that is asked.
    fn quit(&mut self) -> Effect {
        if !self.owns_receiver || self.data.link.broken {
            return Effect::Quit;
        }
        let lines = vec![
            "The receiver stops too: what `stripe listen` sends meanwhile is lost, it sends once.".to_owned(),
            "Everything accepted so far is on disk.".to_owned(),
        ];
        self.asked_to_quit = true;
        self.overlay = Some(Overlay::confirm("Quit?", lines, "Quit", |cx| cx.quit = true));
        Effect::None
    }

    fn rejections(&mut self, now_ms: i64) {
        let all = self.data.link.rejections.all();
        let mut lines = vec!["Nothing of a refused delivery is stored.".to_owned(), String::new()];
        for r in &all {
            lines.push(format!("{:>6}  {:<20} last {}", r.count, r.reason, clock(r.last_ms, now_ms, self.zone)));
            lines.push(format!("        {}", super::text::clean(&r.last)));
        }
        if all.is_empty() {
            lines.push("nothing was refused".to_owned());
        }
        self.overlay = Some(Overlay::text("Refused", lines));
    }

    fn ask_secret(&mut self) {
        let lines = vec!["`stripe listen` prints it when it starts: whsec_… It stays in memory only.".to_owned()];
        let mut overlay = Overlay::prompt("Signing secret", lines, |cx, text| {
            match cx.data.link.secrets.add(&SecretString::from(text)) {
                Ok(()) => cx.notices.say(Tone::Done, "the secret is in use now"),
                Err(why) => cx.notices.say(Tone::Error, why),
            }
        });
        if let Overlay::Prompt { secret, .. } = &mut overlay {
            *secret = true;
        }
        self.overlay = Some(overlay);
    }

    /// Draws everything.
    pub fn draw(&mut self, area: Rect, buf: &mut Buffer, now_ms: i64) {
        let Self { data, theme, zone, tabs, tab, overlay, notices, summary, pulse, frozen, .. } = self;
        let look = Look { theme, now_ms, zone: *zone };
        let frozen = frozen.map(|then| summary.events.saturating_sub(then));
        let head = Head { data, summary, pulse, tab: *tab, frozen };
        if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
            frame::too_small(area, buf, look, &head);
            return;
        }
        let row = |y: u16, height: u16| Rect { y: area.y + y, height, ..area };
        frame::header(row(0, 1), buf, look, &head);
        frame::tabs(row(1, 2), buf, look, &head);
        let body = row(3, area.height - 5);
        let first_run =
            *tab == 0 && summary.payouts == 0 && tabs.first().and_then(|s| s.filter()).is_none_or(str::is_empty);
        let scope = if first_run { Scope::FirstRun } else { tabs.get(*tab).map_or(Scope::Everywhere, |s| s.scope()) };
        if first_run {
            first_run::draw(body, buf, look, data);
        } else if let Some(screen) = tabs.get_mut(*tab) {
            screen.draw(body, buf, look);
        }
        frame::toast(row(area.height - 2, 1), buf, look, notices);
        frame::footer(row(area.height - 1, 1), buf, look, scope);
        if let Some(overlay) = overlay {
            overlay.draw(area, buf, look);
        }
    }
}
