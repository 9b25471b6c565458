//! The guards of outgoing transfers, proved on a model: each fault against each guard switched off in turn, through every
//! order of steps, with and without a day passing in between.

mod stripe;
mod table;
mod world;

use std::collections::HashSet;

pub use table::text;
use world::{Setting, World};

use crate::domain::transfer::lookup::Seen;
use crate::domain::transfer::order::Draft;

/// The names of the guards, in their order.
pub const NAMES: [&str; 5] = ["our record and claim", "Stripe's record", "versioned key", "queue", "events"];

/// Guard 3, on or off in two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    /// As it should be.
    Versioned,
    /// One key for ever.
    Fixed,
    /// A new key each time.
    None,
}

/// Which guards are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Guards {
    record: bool,
    lookup: bool,
    key: Key,
    queue: bool,
    events: bool,
}

const ALL: Guards = Guards { record: true, lookup: true, key: Key::Versioned, queue: true, events: true };
const OFF: Guards = Guards { record: false, lookup: false, key: Key::None, queue: false, events: false };

/// The columns: a short name and the guards that are on.
const COLUMNS: [(&str, Guards); 10] = [
    ("all", ALL),
    ("no 1", Guards { record: false, ..ALL }),
    ("no 2", Guards { lookup: false, ..ALL }),
    ("no 3", Guards { key: Key::None, ..ALL }),
    ("no ver.", Guards { key: Key::Fixed, ..ALL }),
    ("no 4", Guards { queue: false, ..ALL }),
    ("no 5", Guards { events: false, ..ALL }),
    ("1+2", Guards { record: true, lookup: true, ..OFF }),
    ("3 alone", Guards { key: Key::Versioned, ..OFF }),
    ("none", OFF),
];

/// What starts or repeats a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// A person, or the shop's code, asks for it.
    Press,
    /// An event asks for it; the second one is a repeat of the first.
    Event,
    /// Another process takes the same job.
    OtherProcess,
}

#[derive(Debug)]
struct Trigger {
    how: How,
    /// None: at once; else so long after all is quiet, milliseconds.
    after_ms: Option<i64>,
    /// What made Stripe refuse is mended by now.
    healed: bool,
}

/// One row of the table.
#[derive(Debug)]
pub struct Fault {
    /// Its name.
    pub name: &'static str,
    triggers: Vec<Trigger>,
    /// Stripe refuses and stores the refusal, until a trigger heals it.
    refused_first: bool,
    /// One answer may be lost after the money moved.
    lost: bool,
    /// One worker may die between any two steps.
    crash: bool,
}

fn faults() -> Vec<Fault> {
    const HOUR: i64 = 3_600_000;
    let fault = |name, triggers: &[(How, Option<i64>)]| Fault {
        name,
        triggers: triggers
            .iter()
            .map(|(how, after_ms)| Trigger { how: *how, after_ms: *after_ms, healed: false })
            .collect(),
        refused_first: false,
        lost: false,
        crash: false,
    };
    let healed = |mut fault: Fault| {
        fault.triggers.last_mut().into_iter().for_each(|t| t.healed = true);
        Fault { refused_first: true, ..fault }
    };
    use How::{Event, OtherProcess, Press};
    vec![
        fault("double press", &[(Press, None), (Press, None)]),
        fault("two processes racing", &[(Press, None), (OtherProcess, None)]),
        fault("retry after success", &[(Press, None), (Press, Some(60_000))]),
        fault("retry 25 hours later", &[(Press, None), (Press, Some(25 * HOUR))]),
        healed(fault("rotated key, cached error", &[(Press, None), (Press, Some(HOUR))])),
        Fault { lost: true, ..fault("timeout after money moved", &[(Press, None)]) },
        fault("duplicate event", &[(Event, None), (Event, None)]),
        fault("queue retention passed", &[(Press, None), (Press, Some(24 * HOUR))]),
        Fault { crash: true, ..fault("crash before our commit", &[(Press, None)]) },
    ]
}

/// The worst that any order of steps leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Paid once, whatever happens.
    Once,
    /// Once within a day, twice when a day may pass between two steps.
    TwiceAfterADay,
    /// Never paid, however often a person retries within the hour.
    Stranded,
    /// Paid twice or more.
    Twice,
}

impl Verdict {
    /// The word in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::TwiceAfterADay => "2x >24h",
            Self::Stranded => "stranded",
            Self::Twice => "TWICE",
        }
    }
}

/// One fault under every set of guards.
#[derive(Debug)]
pub struct Row {
    /// The fault.
    pub fault: &'static str,
    /// One verdict per column.
    pub verdicts: Vec<Verdict>,
    /// With all guards on: which of them refused something, by place in [`NAMES`].
    pub acted: Vec<usize>,
}

/// The whole table.
#[derive(Debug)]
pub struct Table {
    /// One row per fault.
    pub rows: Vec<Row>,
    /// Different moments looked at.
    pub moments: usize,
}

/// The columns' names, in order.
pub fn columns() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|(name, _)| *name)
}

/// Runs every fault under every set of guards. `Err` when the model's own order is refused by the rules.
pub fn table() -> Result<Table, String> {
    let order = Draft {
        order_ref: "order".to_owned(),
        amount: "1000".to_owned(),
        currency: "usd".to_owned(),
        destination: "acct_seller".to_owned(),
        ..Draft::default()
    }
    .check()?;
    let ours = Seen {
        id: String::new(),
        amount: order.amount,
        amount_reversed: 0,
        currency: order.currency.to_string(),
        destination: Some(order.destination.clone()),
        group: Some(order.order_ref.clone()),
        live: false,
    };
    let mut moments = 0;
    let rows = faults()
        .iter()
        .map(|fault| {
            let mut acted = 0;
            let verdicts = COLUMNS.iter().map(|(_, guards)| {
                let setting = Setting { order: &order, ours: &ours, guards: *guards, fault };
                verdict(setting, &mut moments, &mut acted)
            });
            let verdicts = verdicts.collect();
            let acted = (0..NAMES.len()).filter(|n| acted & (1 << n) != 0).collect();
            Row { fault: fault.name, verdicts, acted }
        })
        .collect();
    Ok(Table { rows, moments })
}

fn verdict(setting: Setting<'_>, moments: &mut usize, acted: &mut u8) -> Verdict {
    let mut worst = Verdict::Once;
    for jumps in [0, 1] {
        let found = explore(setting, jumps, moments, acted);
        worst = worst.max(if found == Verdict::Twice && jumps == 1 { Verdict::TwiceAfterADay } else { found });
        if worst == Verdict::Twice {
            break;
        }
    }
    worst
}

/// Walks every order of steps; the same moment is looked at once.
fn explore(setting: Setting<'_>, jumps: u8, moments: &mut usize, acted: &mut u8) -> Verdict {
    let mut worst = Verdict::Once;
    let mut seen = HashSet::new();
    let mut open = vec![World::new(setting, jumps)];
    while let Some(world) = open.pop() {
        if worst == Verdict::Twice || !seen.insert(world.clone()) {
            continue;
        }
        let next = world.next(setting);
        if world.stripe.transfers > 1 {
            worst = Verdict::Twice;
        } else if next.is_empty() {
            if setting.guards == ALL {
                *acted |= world.acted;
            }
            if world.stripe.transfers == 0 && !can_still_be_paid(&world, setting) {
                worst = worst.max(Verdict::Stranded);
            }
        }
        open.extend(next);
    }
    *moments += seen.len();
    worst
}

/// A person presses retry twice, an hour apart, with nothing else going wrong.
fn can_still_be_paid(world: &World, setting: Setting<'_>) -> bool {
    let mut world = world.clone();
    for _ in 0..2 {
        world = world.press_again(setting);
        while let Some(next) = world.next(setting).into_iter().next() {
            world = next;
        }
    }
    world.stripe.transfers > 0
}

#[cfg(test)]
mod tests;
