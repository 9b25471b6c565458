//! The demo's scenarios: what Stripe would send, in the order it happens to arrive.

use serde_json::Value;

use crate::stripe::simulate::Envelope;
use crate::stripe::simulate::objects::{Payout, charge, transfer};

/// One delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The event's body.
    pub body: String,
    /// Pause before it, in units of the player's pace.
    pub pause: u32,
}

/// A scenario.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// What a person types.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// Whether it ends with an event that needs a person.
    pub ends_stuck: bool,
    build: fn(&mut Script),
}

/// All of them, in the order in which the demo plays them.
pub const SCENARIOS: [Scenario; 8] = [
    Scenario { name: "happy", about: "a payout as it should be", ends_stuck: false, build: happy },
    Scenario { name: "duplicate", about: "every event comes twice or more", ends_stuck: false, build: duplicate },
    Scenario {
        name: "out_of_order",
        about: "paid comes first, the money last",
        ends_stuck: false,
        build: out_of_order,
    },
    Scenario { name: "dropped", about: "created and in_transit never come", ends_stuck: false, build: dropped },
    Scenario { name: "failed", about: "the bank account was closed", ends_stuck: false, build: failed },
    Scenario { name: "returned", about: "paid, and four days later sent back", ends_stuck: false, build: returned },
    Scenario {
        name: "deadlock",
        about: "a reversal and a transfer that need each other",
        ends_stuck: false,
        build: deadlock,
    },
    Scenario { name: "stuck", about: "a payout whose money was there before we were", ends_stuck: true, build: stuck },
];

impl Scenario {
    /// By name.
    pub fn named(name: &str) -> Option<Self> {
        SCENARIOS.into_iter().find(|s| s.name == name)
    }

    /// Its deliveries, with Stripe's times around `now` (unix seconds).
    pub fn steps(&self, now: i64) -> Vec<Step> {
        let mut script = Script { name: self.name, now, made: 0, steps: Vec::new() };
        (self.build)(&mut script);
        script.steps
    }
}

struct Script {
    name: &'static str,
    now: i64,
    made: u32,
    steps: Vec<Step>,
}

const SELLER: &str = "acct_1DemoSeller";

impl Script {
    fn id(&self, prefix: &str) -> String {
        format!("{prefix}_1Demo{}", self.name.replace('_', ""))
    }

    /// An event of `after` seconds later; delivered where `deliver` puts it.
    fn event(&mut self, kind: &str, account: Option<&str>, after: i64, object: Value) -> String {
        self.made += 1;
        let id = format!("{}{}", self.id("evt"), self.made);
        Envelope { id: &id, kind, account, created: self.now + after }.body(object, None)
    }

    fn deliver(&mut self, pause: u32, body: &str) {
        self.steps.push(Step { body: body.to_owned(), pause });
    }

    fn charge(&mut self, amount: i64, after: i64) -> String {
        let object = charge(&self.id("ch"), amount, "usd", self.now + after);
        self.event("charge.succeeded", None, after, object)
    }

    fn transfer(&mut self, amount: i64, after: i64) -> String {
        let object = transfer(&self.id("tr"), amount, "usd", self.now + after, SELLER, &[]);
        self.event("transfer.created", None, after, object)
    }

    /// A payout of the seller in its states, one event each, a few seconds apart.
    fn payout(&mut self, amount: i64, states: &[(&str, &str, i64)]) -> Vec<String> {
        let payout = Payout::new(&self.id("po"), amount, "usd", self.now + 20);
        let mut bodies = Vec::new();
        for (kind, status, after) in states {
            let failure = (*status == "failed").then_some("account_closed");
            let object = payout.with_status(status, failure).json();
            bodies.push(self.event(kind, Some(SELLER), *after, object));
        }
        bodies
    }

    fn funding(&mut self) -> [String; 2] {
        [self.charge(5_000, 0), self.transfer(4_000, 10)]
    }
}

const PAID: [(&str, &str, i64); 3] =
    [("payout.created", "pending", 20), ("payout.updated", "in_transit", 30), ("payout.paid", "paid", 40)];

fn happy(s: &mut Script) {
    let funding = s.funding();
    let payout = s.payout(3_500, &PAID);
    funding.iter().chain(&payout).for_each(|body| s.deliver(1, body));
}

fn duplicate(s: &mut Script) {
    let funding = s.funding();
    let payout = s.payout(1_250, &PAID);
    for body in funding.iter().chain(&payout) {
        s.deliver(1, body);
        s.deliver(0, body);
    }
    s.deliver(1, &funding[0]);
    s.deliver(0, &payout[0]);
}

fn out_of_order(s: &mut Script) {
    let funding = s.funding();
    let payout = s.payout(3_500, &PAID);
    for body in [&payout[2], &payout[0], &payout[1], &funding[1], &funding[0]] {
        s.deliver(1, body);
    }
}

fn dropped(s: &mut Script) {
    let funding = s.funding();
    let payout = s.payout(1_800, &PAID);
    funding.iter().chain(&payout[2..]).for_each(|body| s.deliver(1, body));
}

fn failed(s: &mut Script) {
    let funding = s.funding();
    let payout = s.payout(4_000, &[("payout.created", "pending", 20), ("payout.failed", "failed", 3_600)]);
    funding.iter().chain(&payout).for_each(|body| s.deliver(1, body));
}

fn returned(s: &mut Script) {
    let funding = s.funding();
    let mut states = PAID.to_vec();
    states.push(("payout.failed", "failed", 4 * 86_400));
    let payout = s.payout(3_300, &states);
    // The return overtakes the news that it was paid.
    let late = [&funding[0], &funding[1], &payout[0], &payout[3], &payout[2], &payout[1]];
    late.into_iter().for_each(|body| s.deliver(1, body));
}

/// R5: nothing that waits can go alone; together they can. The payout took the seller's all, so the reversal needs the
/// second transfer, and that needs the reversal.
fn deadlock(s: &mut Script) {
    let charge = s.charge(10_000, 0);
    let first = s.transfer(10_000, 10);
    let payout = s.payout(10_000, &[("payout.created", "pending", 20)]);
    let object = transfer(&s.id("tr"), 10_000, "usd", s.now + 10, SELLER, &[4_000]);
    let reversed = s.event("transfer.reversed", None, 30, object);
    let object = transfer(&format!("{}b", s.id("tr")), 4_000, "usd", s.now + 40, SELLER, &[]);
    let second = s.event("transfer.created", None, 40, object);
    for body in [&charge, &first, &payout[0], &reversed, &second] {
        s.deliver(1, body);
    }
}

fn stuck(s: &mut Script) {
    let payout = Payout::new(&s.id("po"), 25_000, "usd", s.now);
    let object = payout.json();
    let body = s.event("payout.created", Some("acct_1DemoVeteran"), 0, object);
    s.deliver(1, &body);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::parse;
    use crate::domain::memory::Monitor;
    use crate::domain::outcome::State;
    use crate::domain::retry::Profile;

    #[test]
    fn every_scenario_ends_as_it_says() {
        for scenario in SCENARIOS {
            let mut monitor = Monitor::new(false, Profile::default());
            for step in scenario.steps(1_760_000_000) {
                monitor.deliver(&parse(step.body.as_bytes()).unwrap(), 0);
            }
            for round in 1..20 {
                monitor.sweep(round * 1_000_000);
            }
            let left =
                monitor.outcomes().values().filter(|o| o.state == State::Stuck || o.state == State::Waiting).count();
            assert_eq!(left > 0, scenario.ends_stuck, "{}", scenario.name);
        }
    }
}
