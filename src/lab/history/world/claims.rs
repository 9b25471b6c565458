//! What Stripe takes and gives back whether the money is there or not, and events that move nothing.

use serde_json::json;

use super::{PLATFORM, Thing, World};
use crate::stripe::simulate::objects::{self, DisputeMoney};

/// What a dispute costs besides its amount.
const DISPUTE_FEE: i64 = 1_500;

impl World<'_> {
    pub(super) fn reversal(&mut self) {
        let part = [2_000, 3_000, 5_000, 10_000][self.rng.below(4)];
        let Some(at) = self.index(|w| w.transfers.len()) else { return };
        let t = &self.transfers[at];
        let amount = part.min(t.amount - t.data.iter().sum::<i64>());
        let (seller, currency) = (t.owner.clone(), t.currency.clone());
        if amount <= 0 || !self.may_take(&seller, &currency, amount) {
            return;
        }
        self.unguarded(&seller, &currency, -amount);
        self.guarded(PLATFORM, &currency, amount);
        let t = &mut self.transfers[at];
        t.data.push(amount);
        let object = objects::transfer(&t.id, t.amount, &t.currency, t.born, &t.owner, &t.data);
        self.emit("transfer.reversed", PLATFORM, object, None);
    }

    pub(super) fn refund(&mut self) {
        let part = [2_000, 5_000][self.rng.below(2)];
        let Some(at) = self.index(|w| w.charges.len()) else { return };
        let charge = &self.charges[at];
        let (owner, currency, amount) = (charge.owner.clone(), charge.currency.clone(), part.min(charge.data.0));
        if amount <= 0 || !self.may_take(&owner, &currency, amount) {
            return;
        }
        let (charge_id, full, born) = (charge.id.clone(), charge.amount, charge.born);
        self.charges[at].data.0 -= amount;
        let refunded = full - self.charges[at].data.0;
        let status = ["pending", "succeeded"][self.rng.below(2)];
        let made = self.thing("re", &owner, &currency, amount, status);
        self.unguarded(&owner, &currency, -amount);
        self.emit(
            "refund.created",
            &owner,
            objects::refund(&made.id, amount, &currency, self.now, &charge_id, status),
            None,
        );
        if self.shape.noise && self.rng.chance(30) {
            let mut object = objects::charge(&charge_id, full, &currency, born);
            object["amount_refunded"] = refunded.into();
            object["refunded"] = (refunded == full).into();
            self.emit("charge.refunded", &owner, object, None);
        }
        self.refunds.push(made);
    }

    pub(super) fn refund_goes_on(&mut self) {
        let Some(at) = self.index(|w| w.refunds.len()) else { return };
        let status = match self.refunds[at].data {
            "pending" => ["succeeded", "failed", "canceled"][self.rng.below(3)],
            "succeeded" => "failed",
            _ => return,
        };
        let kind = if status == "failed" { "refund.failed" } else { "refund.updated" };
        self.refunds[at].data = status;
        let r = &self.refunds[at];
        let (owner, currency, amount) = (r.owner.clone(), r.currency.clone(), r.amount);
        let object = objects::refund(&r.id, amount, &currency, r.born, "ch_simulated", status);
        if status != "succeeded" {
            self.unguarded(&owner, &currency, amount);
        }
        self.emit(kind, &owner, object, None);
    }

    pub(super) fn fee(&mut self) {
        let (amount, currency) = self.amount();
        let seller = self.seller();
        if !self.may_take(&seller, &currency, amount) {
            return;
        }
        let made = self.thing("fee", &seller, &currency, amount, Vec::new());
        self.unguarded(&seller, &currency, -amount);
        self.guarded(PLATFORM, &currency, amount);
        let object = objects::application_fee(&made.id, amount, &currency, self.now, &seller, &[]);
        self.emit("application_fee.created", PLATFORM, object, None);
        self.fees.push(made);
    }

    pub(super) fn fee_refund(&mut self) {
        let Some(at) = self.index(|w| w.fees.len()) else { return };
        let fee = &self.fees[at];
        let (seller, currency) = (fee.owner.clone(), fee.currency.clone());
        let amount = 1_000.min(fee.amount - fee.data.iter().sum::<i64>());
        if amount <= 0 || !self.may_take(PLATFORM, &currency, amount) {
            return;
        }
        self.unguarded(PLATFORM, &currency, -amount);
        self.unguarded(&seller, &currency, amount);
        let fee = &mut self.fees[at];
        fee.data.push(amount);
        let object = objects::application_fee(&fee.id, fee.amount, &fee.currency, fee.born, &fee.owner, &fee.data);
        self.emit("application_fee.refunded", PLATFORM, object, None);
    }

    pub(super) fn dispute(&mut self) {
        if self.disputes.is_empty() || self.rng.chance(40) {
            let Some(at) = self.index(|w| w.charges.len()) else { return };
            let charge = &self.charges[at];
            let (owner, currency, amount) = (charge.owner.clone(), charge.currency.clone(), charge.amount);
            let made = self.thing("dp", &owner, &currency, amount, DisputeMoney::None);
            self.emit_dispute("charge.dispute.created", &made);
            self.disputes.push(made);
            return;
        }
        let at = self.rng.below(self.disputes.len());
        let d = &self.disputes[at];
        let (owner, currency, amount) = (d.owner.clone(), d.currency.clone(), d.amount);
        let (money, moved) = match d.data {
            DisputeMoney::None => (DisputeMoney::Withdrawn, -amount - DISPUTE_FEE),
            DisputeMoney::Withdrawn => (DisputeMoney::Reinstated, amount),
            DisputeMoney::Reinstated => return,
        };
        if !self.may_take(&owner, &currency, -moved) {
            return;
        }
        self.unguarded(&owner, &currency, moved);
        let mut d = self.disputes.swap_remove(at);
        d.data = money;
        let word = if moved < 0 { "withdrawn" } else { "reinstated" };
        self.emit_dispute(&format!("charge.dispute.funds_{word}"), &d);
        self.disputes.push(d);
    }

    fn emit_dispute(&mut self, kind: &str, d: &Thing<DisputeMoney>) {
        let object = objects::dispute(&d.id, d.amount, DISPUTE_FEE, &d.currency, d.born, "ch_simulated", d.data);
        self.emit(kind, &d.owner, object, None);
    }

    pub(super) fn topup(&mut self) {
        let Some(at) = self.index(|w| w.topups.len()).filter(|_| self.rng.chance(75)) else {
            let (amount, currency) = self.amount();
            let made = self.thing("tu", PLATFORM, &currency, amount, "pending");
            self.emit_topup("topup.created", &made);
            self.topups.push(made);
            return;
        };
        let (currency, amount) = (self.topups[at].currency.clone(), self.topups[at].amount);
        let status = match self.topups[at].data {
            "pending" => ["succeeded", "succeeded", "failed"][self.rng.below(3)],
            "succeeded" if self.may_take(PLATFORM, &currency, amount) => "reversed",
            _ => return,
        };
        match status {
            "succeeded" => self.guarded(PLATFORM, &currency, amount),
            "reversed" => self.unguarded(PLATFORM, &currency, -amount),
            _ => {}
        }
        let mut made = self.topups.swap_remove(at);
        made.data = status;
        self.emit_topup(&format!("topup.{status}"), &made);
        self.topups.push(made);
    }

    fn emit_topup(&mut self, kind: &str, t: &Thing<&'static str>) {
        self.emit(kind, PLATFORM, objects::topup(&t.id, t.amount, &t.currency, t.born, t.data), None);
    }

    pub(super) fn noise(&mut self) {
        if self.shape.noise {
            let owner = self.owner();
            let object = json!({ "object": "balance", "available": [], "pending": [], "livemode": false });
            self.emit("balance.available", &owner, object, None);
        }
    }

    /// One of so many things, or none of none.
    fn index(&mut self, len: impl Fn(&Self) -> usize) -> Option<usize> {
        let len = len(self);
        (len > 0).then(|| self.rng.below(len))
    }
}
