//! Tab 6: the ordering lab. The same deliveries under every strategy, order by order and step by step.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::lab_draw;
use crate::domain::engine::Rules;
use crate::lab::case::Case;
use crate::lab::prove::{Proof, prove};
use crate::lab::report::strategies;
use crate::lab::stage::{SWITCHES, Stage};
use crate::lab::{log, scenario};
use crate::store::error::StoreError;
use crate::store::view::{Direction, Filter, Page};
use crate::tui::action::{Action, Scope};
use crate::tui::data::Data;
use crate::tui::notices::Tone;
use crate::tui::screen::{Cx, Look, Screen};

/// Orders that one press of the prove key adds.
const PROVE: usize = 1_000;
/// The scenario on the bench when the tab is opened first: the one about payouts.
const FIRST: &str = "bounced_payout";
/// How many of the user's own newest events become a scenario.
const OWN: usize = 12;

/// The screen.
#[derive(Default)]
pub struct Lab {
    stage: Option<Stage>,
    /// Why there is no stage.
    fault: Option<String>,
    /// Index into the scenarios; one past them is the user's own events.
    source: usize,
    /// The strategy one stands at.
    selected: usize,
    proof: Option<Proof>,
}

impl Lab {
    fn put(&mut self, case: Result<Case, String>) {
        let (switch, seed) = self.stage.as_ref().map_or((0, 1), |stage| (stage.switch, stage.seed));
        match case {
            Ok(case) => (self.stage, self.fault) = (Some(Stage::new(case, switch, seed)), None),
            Err(why) => (self.stage, self.fault) = (None, Some(why)),
        }
    }

    /// The next scenario; after the last one the user's own events, where there are any.
    fn next_scenario(&mut self, data: &Data) -> Result<(), StoreError> {
        let names: Vec<_> = scenario::names().collect();
        self.source += 1;
        if self.source == names.len()
            && let Some(case) = own_events(data)?
        {
            self.put(Ok(case));
            return Ok(());
        }
        self.source %= names.len();
        self.load(names[self.source]);
        Ok(())
    }

    fn load(&mut self, name: &str) {
        let case = scenario::built_in(name).unwrap_or_else(|| Err(format!("there is no scenario {name}")));
        self.put(case);
    }

    fn prove(&mut self) -> String {
        let seed = self.proof.as_ref().map_or(1, |proof| proof.seed + 1);
        let proof = prove(PROVE, seed, &strategies(Rules::default()), |_| true);
        let ours = proof.records.iter().find(|r| r.name == "state_machine");
        let text = ours.map_or_else(String::new, |r| {
            format!("{} random orders: ours differs in {}, waits in {}", proof.orders, r.differs, r.waiting)
        });
        self.proof = Some(proof);
        text
    }
}

/// The newest events that arrived, in order of arrival.
fn own_events(data: &Data) -> Result<Option<Case>, StoreError> {
    let page = Page { cursor: None, before: false, limit: OWN };
    let rows = data.reader.events(&Filter::default(), Direction::Descending, &page)?;
    let mut arrived = Vec::new();
    for row in rows {
        let Some(body) = data.reader.body(row.seq)? else { continue };
        if row.deliveries > 1 {
            arrived.push((row.last_ms, body.clone()));
        }
        arrived.push((row.first_ms, body));
    }
    Ok(log::arrivals("own events", arrived))
}

impl Screen for Lab {
    fn scope(&self) -> Scope {
        Scope::Lab
    }

    fn refresh(&mut self, _: &Data) -> Result<(), StoreError> {
        if self.stage.is_none() && self.fault.is_none() {
            self.source = scenario::names().position(|name| name == FIRST).unwrap_or(0);
            self.selected = strategies(Rules::default()).iter().position(|s| s.name() == "arrival_order").unwrap_or(0);
            self.load(FIRST);
        }
        Ok(())
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        match &self.stage {
            Some(stage) => {
                let scenarios = scenario::names().count();
                let place = if self.source < scenarios {
                    format!("scenario {} of {scenarios}", self.source + 1)
                } else {
                    "your own events".to_owned()
                };
                lab_draw::draw(area, buf, look, stage, self.selected, &place, self.proof.as_ref());
            }
            None => lab_draw::fault(area, buf, look, self.fault.as_deref().unwrap_or("nothing read yet")),
        }
    }

    fn act(&mut self, action: Action, cx: &mut Cx<'_>) -> Result<(), StoreError> {
        match action {
            Action::Scenario => {
                self.next_scenario(cx.data)?;
                return Ok(());
            }
            Action::Prove => {
                let text = self.prove();
                cx.notices.say(Tone::Done, text);
                return Ok(());
            }
            _ => {}
        }
        let Some(stage) = &mut self.stage else {
            cx.unused = true;
            return Ok(());
        };
        let last = stage.outcomes.len().saturating_sub(1);
        match action {
            Action::Left => stage.go(false),
            Action::Right => stage.go(true),
            Action::First => stage.step = 0,
            Action::Last => stage.step = stage.order.len(),
            Action::Down => self.selected = (self.selected + 1).min(last),
            Action::Up => self.selected = self.selected.saturating_sub(1),
            Action::PreviousRow => stage.walk(false),
            Action::NextRow => stage.walk(true),
            Action::Shuffle => stage.shuffle(),
            Action::Lower => stage.shift(true),
            Action::Raise => stage.shift(false),
            Action::Open => {
                if !stage.next_wrong(self.selected) {
                    let name = stage.outcomes.get(self.selected).map_or("", |o| o.name);
                    cx.notices.say(Tone::Done, format!("{name} is right in every order shown"));
                }
            }
            Action::Rules => {
                stage.switch_rule();
                cx.notices.say(Tone::Done, SWITCHES[stage.switch]);
            }
            _ => cx.unused = true,
        }
        Ok(())
    }
}
