//! The small model of Stripe behind the random histories: what exists, who has how much, what may happen next.

mod claims;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{History, Made, PayoutTruth, Rng, Shape};
use crate::stripe::simulate::Envelope;
use crate::stripe::simulate::objects::{self, DisputeMoney, Payout};

const PLATFORM: &str = "platform";
const SELLERS: [&str; 2] = ["acct_anna", "acct_ben"];
const CURRENCIES: [&str; 4] = ["usd", "usd", "usd", "jpy"];
const AMOUNTS: [i64; 4] = [2_000, 3_000, 5_000, 10_000];
const FAILURES: [&str; 3] = ["account_closed", "no_account", "insufficient_funds"];

/// Where something that can go on stands.
struct Thing<D> {
    id: String,
    owner: String,
    currency: String,
    amount: i64,
    born: i64,
    data: D,
}

/// What is left of a charge to refund or dispute.
struct Left(i64);

pub struct World<'a> {
    rng: &'a mut Rng,
    shape: Shape,
    prefix: String,
    now: i64,
    pub made: Vec<Made>,
    /// What Stripe guards: credits, transfers, payouts.
    funds: BTreeMap<(String, String), i64>,
    balances: BTreeMap<(String, String), i64>,
    owed: bool,
    uncaptured: Vec<Thing<()>>,
    charges: Vec<Thing<Left>>,
    transfers: Vec<Thing<Vec<i64>>>,
    payouts: Vec<Thing<Payout>>,
    refunds: Vec<Thing<&'static str>>,
    fees: Vec<Thing<Vec<i64>>>,
    disputes: Vec<Thing<DisputeMoney>>,
    topups: Vec<Thing<&'static str>>,
}

impl<'a> World<'a> {
    pub fn new(rng: &'a mut Rng, shape: Shape) -> Self {
        let prefix = format!("{:08x}", rng.draw() >> 32);
        let now = 1_790_000_000 + (rng.below(1_000_000) as i64);
        Self {
            rng,
            shape,
            prefix,
            now,
            made: Vec::new(),
            funds: BTreeMap::new(),
            balances: BTreeMap::new(),
            owed: false,
            uncaptured: Vec::new(),
            charges: Vec::new(),
            transfers: Vec::new(),
            payouts: Vec::new(),
            refunds: Vec::new(),
            fees: Vec::new(),
            disputes: Vec::new(),
            topups: Vec::new(),
        }
    }

    pub fn end(self) -> History {
        let payouts = self.payouts.into_iter().map(|p| {
            let truth = PayoutTruth {
                status: p.data.status.clone(),
                account: p.owner,
                amount: p.amount,
                currency: p.currency,
                arrival_date: p.data.arrival_date,
                failure_code: (p.data.status == "failed").then_some(p.data.failure_code).flatten(),
            };
            (p.id, truth)
        });
        let balances = self.balances.into_iter().filter(|(_, balance)| *balance != 0);
        History { payouts: payouts.collect(), balances: balances.collect(), events: self.made, owed: self.owed }
    }

    /// One thing happens, if it can.
    pub fn step(&mut self) {
        self.now += [0, 0, 1][self.rng.below(3)];
        match if self.made.is_empty() { 0 } else { self.rng.below(100) } {
            0..16 => self.charge(),
            16..20 => self.capture(),
            20..34 => self.transfer(),
            34..48 => self.payout(),
            48..66 => self.payout_goes_on(),
            66..74 => self.reversal(),
            74..80 => self.refund(),
            80..84 => self.refund_goes_on(),
            84..88 => self.fee(),
            88..91 => self.fee_refund(),
            91..95 => self.dispute(),
            95..98 => self.topup(),
            _ => self.noise(),
        }
    }

    fn emit(&mut self, kind: &str, owner: &str, object: Value, previous: Option<Value>) {
        let object_id = object["id"].as_str().unwrap_or_default().to_owned();
        let twins = if self.shape.noise && self.rng.chance(4) { 2 } else { 1 };
        for _ in 0..twins {
            let id = format!("evt_{}{:04}", self.prefix, self.made.len());
            let account = (owner != PLATFORM).then_some(owner);
            let envelope = Envelope { id: &id, kind, account, created: self.now };
            let body = envelope.body(object.clone(), previous.clone());
            self.made.push(Made { id, kind: kind.to_owned(), object: object_id.clone(), created: self.now, body });
        }
    }

    fn new_id(&self, prefix: &str) -> String {
        format!("{prefix}_{}{:03}", self.prefix, self.made.len())
    }

    fn owner(&mut self) -> String {
        [PLATFORM, SELLERS[0], SELLERS[1]][self.rng.below(3)].to_owned()
    }

    fn seller(&mut self) -> String {
        SELLERS[self.rng.below(2)].to_owned()
    }

    fn amount(&mut self) -> (i64, String) {
        (AMOUNTS[self.rng.below(4)], CURRENCIES[self.rng.below(4)].to_owned())
    }

    fn balance(&self, owner: &str, currency: &str) -> i64 {
        self.balances.get(&(owner.to_owned(), currency.to_owned())).copied().unwrap_or(0)
    }

    /// Money that Stripe guards moves.
    fn guarded(&mut self, owner: &str, currency: &str, amount: i64) {
        *self.funds.entry((owner.to_owned(), currency.to_owned())).or_default() += amount;
        self.unguarded(owner, currency, amount);
    }

    /// Money that Stripe takes whether it is there or not.
    fn unguarded(&mut self, owner: &str, currency: &str, amount: i64) {
        let balance = self.balances.entry((owner.to_owned(), currency.to_owned())).or_default();
        *balance += amount;
        self.owed |= *balance < 0;
    }

    /// Whether Stripe lets a transfer or payout of this size go: its balance allows it, or, where debts are allowed, now
    /// and then because what it guards allows it.
    fn allows(&mut self, owner: &str, currency: &str, amount: i64) -> bool {
        let funds = self.funds.get(&(owner.to_owned(), currency.to_owned())).copied().unwrap_or(0);
        self.balance(owner, currency) >= amount || (self.shape.may_owe && funds >= amount && self.rng.chance(30))
    }

    fn may_take(&self, owner: &str, currency: &str, amount: i64) -> bool {
        self.shape.may_owe || self.balance(owner, currency) >= amount
    }

    fn thing<D>(&self, prefix: &str, owner: &str, currency: &str, amount: i64, data: D) -> Thing<D> {
        let (owner, currency) = (owner.to_owned(), currency.to_owned());
        Thing { id: self.new_id(prefix), owner, currency, amount, born: self.now, data }
    }

    fn charge(&mut self) {
        let (amount, currency) = self.amount();
        let owner = if self.rng.chance(60) { PLATFORM.to_owned() } else { self.seller() };
        let made = self.thing("ch", &owner, &currency, amount, Left(amount));
        let mut object = objects::charge(&made.id, amount, &currency, self.now);
        if self.made.len() > 1 && self.rng.chance(20) {
            object["captured"] = false.into();
            object["amount_captured"] = 0.into();
            object["balance_transaction"] = Value::Null;
            self.uncaptured.push(self.thing("ch", &owner, &currency, amount, ()));
        } else {
            self.guarded(&owner, &currency, amount);
            self.charges.push(made);
        }
        self.emit("charge.succeeded", &owner, object, None);
    }

    fn capture(&mut self) {
        let Some(held) = self.uncaptured.pop() else { return };
        let amount = if self.rng.chance(30) { held.amount - 500 } else { held.amount };
        let mut object = objects::charge(&held.id, held.amount, &held.currency, held.born);
        object["amount_captured"] = amount.into();
        self.guarded(&held.owner, &held.currency, amount);
        self.emit("charge.captured", &held.owner, object, None);
        let Thing { id, owner, currency, born, .. } = held;
        self.charges.push(Thing { id, owner, currency, amount, born, data: Left(amount) });
    }

    fn transfer(&mut self) {
        let (amount, currency) = self.amount();
        let seller = self.seller();
        if !self.allows(PLATFORM, &currency, amount) {
            return;
        }
        let made = self.thing("tr", &seller, &currency, amount, Vec::new());
        self.guarded(PLATFORM, &currency, -amount);
        self.guarded(&seller, &currency, amount);
        self.emit(
            "transfer.created",
            PLATFORM,
            objects::transfer(&made.id, amount, &currency, self.now, &seller, &[]),
            None,
        );
        if self.shape.noise && self.rng.chance(30) {
            let mut mirror = objects::charge(&self.new_id("py"), amount, &currency, self.now);
            mirror["source_transfer"] = made.id.clone().into();
            self.emit("charge.succeeded", &seller, mirror, None);
        }
        self.transfers.push(made);
    }

    fn payout(&mut self) {
        let (mut amount, currency) = self.amount();
        let owner = self.owner();
        let balance = self.balance(&owner, &currency);
        if balance < 0 && self.rng.chance(70) {
            amount = balance;
        } else if !self.allows(&owner, &currency, amount) {
            return;
        }
        let status = ["pending", "in_transit", "paid"][self.rng.below(3)];
        let id = self.new_id("po");
        let payout = Payout::new(&id, amount, &currency, self.now).with_status(status, None);
        let kind = if status == "paid" { "payout.paid" } else { "payout.created" };
        if amount > 0 || status == "paid" {
            self.guarded(&owner, &currency, -amount);
        }
        self.emit(kind, &owner, payout.json(), None);
        self.payouts.push(Thing { id, owner, currency, amount, born: self.now, data: payout });
    }

    fn payout_goes_on(&mut self) {
        if self.payouts.is_empty() {
            return;
        }
        let at = self.rng.below(self.payouts.len());
        let (was, amount) = (self.payouts[at].data.clone(), self.payouts[at].amount);
        let next: &[&str] = match was.status.as_str() {
            "pending" => &["pending", "in_transit", "paid", "failed", "canceled"],
            "in_transit" => &["in_transit", "paid", "failed"],
            "paid" => &["paid", "failed"],
            _ => return,
        };
        let status = next[self.rng.below(next.len())];
        let failure = (status == "failed").then(|| FAILURES[self.rng.below(3)]);
        let mut now = was.with_status(status, failure);
        let mut previous = None;
        let kind = match status {
            "paid" if was.status != "paid" => "payout.paid",
            "failed" => "payout.failed",
            "canceled" => "payout.canceled",
            _ => {
                now.arrival_date += 86_400;
                previous = Some(json!({ "arrival_date": was.arrival_date, "status": was.status }));
                "payout.updated"
            }
        };
        let (owner, currency) = (self.payouts[at].owner.clone(), self.payouts[at].currency.clone());
        if amount > 0 && matches!(status, "failed" | "canceled") {
            self.guarded(&owner, &currency, amount);
        } else if amount < 0 && status == "paid" && was.status != "paid" {
            self.guarded(&owner, &currency, -amount);
        } else if amount < 0 && status == "failed" && was.status == "paid" {
            self.unguarded(&owner, &currency, amount);
        }
        self.emit(kind, &owner, now.json(), previous);
        self.payouts[at].data = now;
    }
}
