//! Stripe's objects as a test account would render them: the fields that a handler reads, with consistent values.
//!
//! Amounts are minor units, times unix seconds. Source: Stripe API reference, version [`crate::stripe::client::API_VERSION`].

use serde_json::{Value, json};

/// A payout as of some moment.
#[derive(Debug, Clone)]
pub struct Payout {
    /// `po_…`.
    pub id: String,
    /// Negative for a bank debit.
    pub amount: i64,
    /// Lower-case code.
    pub currency: String,
    /// Stripe's word.
    pub status: String,
    /// When the payout was made, unix seconds.
    pub created: i64,
    /// Midnight UTC of the expected day, unix seconds.
    pub arrival_date: i64,
    /// Made by the schedule.
    pub automatic: bool,
    /// Why it failed.
    pub failure_code: Option<String>,
    /// `instant` or `standard`.
    pub method: String,
}

impl Payout {
    /// A standard payout that a person made, pending, expected two days after `created`.
    pub fn new(id: &str, amount: i64, currency: &str, created: i64) -> Self {
        let day = 86_400;
        Self {
            id: id.to_owned(),
            amount,
            currency: currency.to_owned(),
            status: "pending".to_owned(),
            created,
            arrival_date: created - created.rem_euclid(day) + 2 * day,
            automatic: amount < 0,
            failure_code: None,
            method: "standard".to_owned(),
        }
    }

    /// The same payout in another state.
    pub fn with_status(&self, status: &str, failure_code: Option<&str>) -> Self {
        Self { status: status.to_owned(), failure_code: failure_code.map(str::to_owned), ..self.clone() }
    }

    /// The object.
    pub fn json(&self) -> Value {
        let returned = matches!(self.status.as_str(), "failed" | "canceled");
        let failure_code =
            (self.status == "failed").then(|| self.failure_code.as_deref().unwrap_or("could_not_process"));
        json!({
            "id": self.id, "object": "payout", "amount": self.amount, "currency": self.currency,
            "arrival_date": self.arrival_date, "automatic": self.automatic, "created": self.created,
            "balance_transaction": txn(&self.id, "out"), "description": "STRIPE PAYOUT",
            "destination": "ba_simulated0001", "livemode": false, "metadata": {}, "method": self.method,
            "failure_balance_transaction": returned.then(|| txn(&self.id, "back")),
            "failure_code": failure_code, "failure_message": failure_code.map(failure_message),
            "original_payout": null, "reversed_by": null, "source_type": "card", "statement_descriptor": null,
            "reconciliation_status": if self.automatic { "in_progress" } else { "not_applicable" },
            "status": self.status, "type": "bank_account", "trace_id": { "status": "pending", "value": null },
        })
    }
}

/// A captured charge.
pub fn charge(id: &str, amount: i64, currency: &str, created: i64) -> Value {
    json!({
        "id": id, "object": "charge", "amount": amount, "amount_captured": amount, "amount_refunded": 0,
        "application_fee": null, "application_fee_amount": null, "balance_transaction": txn(id, "in"),
        "captured": true, "created": created, "currency": currency, "disputed": false, "livemode": false,
        "metadata": {}, "paid": true, "refunded": false, "source_transfer": null, "status": "succeeded",
        "transfer": null, "transfer_data": null, "transfer_group": null,
    })
}

/// A transfer of which `reversed` came back in one reversal per element, oldest first.
pub fn transfer(id: &str, amount: i64, currency: &str, created: i64, destination: &str, reversals: &[i64]) -> Value {
    let reversed: i64 = reversals.iter().sum();
    let data = reversals.iter().enumerate().rev().map(|(n, amount)| {
        let trr = format!("trr_{}_{n}", tail(id));
        json!({ "id": trr, "object": "transfer_reversal", "amount": amount, "currency": currency, "transfer": id,
                "created": created, "balance_transaction": txn(&trr, "in"), "metadata": {} })
    });
    let data: Vec<_> = data.collect();
    json!({
        "id": id, "object": "transfer", "amount": amount, "amount_reversed": reversed,
        "balance_transaction": txn(id, "out"), "created": created, "currency": currency, "description": null,
        "destination": destination, "destination_payment": format!("py_{}", tail(id)), "livemode": false,
        "metadata": {}, "reversed": reversed == amount, "source_transaction": null, "source_type": "card",
        "transfer_group": null,
        "reversals": { "object": "list", "data": data, "has_more": false, "url": format!("/v1/transfers/{id}/reversals") },
    })
}

/// A refund; `status` decides whether money went out and came back.
pub fn refund(id: &str, amount: i64, currency: &str, created: i64, charge: &str, status: &str) -> Value {
    let failed = matches!(status, "failed" | "canceled");
    json!({
        "id": id, "object": "refund", "amount": amount, "balance_transaction": txn(id, "out"), "charge": charge,
        "created": created, "currency": currency, "metadata": {}, "payment_intent": null, "reason": null,
        "failure_balance_transaction": failed.then(|| txn(id, "back")), "failure_reason": (status == "failed").then_some("declined"),
        "source_transfer_reversal": null, "status": status, "transfer_reversal": null,
    })
}

/// A dispute: before the bank took the money, after, and after it came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisputeMoney {
    /// No money has moved.
    None,
    /// Withdrawn, with the dispute's fee.
    Withdrawn,
    /// Given back; the fee stays.
    Reinstated,
}

/// A dispute over `amount` whose fee is `fee`.
pub fn dispute(
    id: &str,
    amount: i64,
    fee: i64,
    currency: &str,
    created: i64,
    charge: &str,
    money: DisputeMoney,
) -> Value {
    let taken = json!({ "id": txn(id, "out"), "object": "balance_transaction", "amount": -amount, "fee": fee,
                        "net": -amount - fee, "currency": currency, "type": "adjustment", "created": created });
    let given = json!({ "id": txn(id, "back"), "object": "balance_transaction", "amount": amount, "fee": 0,
                        "net": amount, "currency": currency, "type": "adjustment", "created": created });
    let (transactions, status) = match money {
        DisputeMoney::None => (vec![], "needs_response"),
        DisputeMoney::Withdrawn => (vec![taken], "under_review"),
        DisputeMoney::Reinstated => (vec![taken, given], "won"),
    };
    json!({
        "id": id, "object": "dispute", "amount": amount, "balance_transactions": transactions, "charge": charge,
        "created": created, "currency": currency, "is_charge_refundable": false, "livemode": false, "metadata": {},
        "reason": "general", "status": status,
    })
}

/// A top-up.
pub fn topup(id: &str, amount: i64, currency: &str, created: i64, status: &str) -> Value {
    json!({
        "id": id, "object": "topup", "amount": amount, "currency": currency, "created": created, "livemode": false,
        "balance_transaction": (status != "pending").then(|| txn(id, "in")), "description": "Top-up",
        "expected_availability_date": created, "failure_code": null, "metadata": {}, "status": status,
        "transfer_group": null,
    })
}

/// An application fee that `account` paid, of which `refunds` were given back, oldest first.
pub fn application_fee(id: &str, amount: i64, currency: &str, created: i64, account: &str, refunds: &[i64]) -> Value {
    let refunded: i64 = refunds.iter().sum();
    let data = refunds.iter().enumerate().rev().map(|(n, amount)| {
        let fr = format!("fr_{}_{n}", tail(id));
        json!({ "id": fr, "object": "fee_refund", "amount": amount, "currency": currency, "fee": id,
                "created": created, "balance_transaction": txn(&fr, "out"), "metadata": {} })
    });
    let data: Vec<_> = data.collect();
    json!({
        "id": id, "object": "application_fee", "account": account, "amount": amount, "amount_refunded": refunded,
        "balance_transaction": txn(id, "in"), "charge": format!("ch_{}", tail(id)), "created": created,
        "currency": currency, "fee_source": { "charge": format!("ch_{}", tail(id)), "type": "charge" },
        "livemode": false, "originating_transaction": null, "refunded": refunded == amount,
        "refunds": { "object": "list", "data": data, "has_more": false, "url": format!("/v1/application_fees/{id}/refunds") },
    })
}

/// Stripe's sentence for the failure codes of its test bank accounts; the code itself for others.
fn failure_message(code: &str) -> String {
    match code {
        "account_closed" => "The bank account has been closed.".to_owned(),
        "no_account" => "The bank account could not be located.".to_owned(),
        "insufficient_funds" => "The bank account has insufficient funds to complete the debit.".to_owned(),
        "debit_not_authorized" => "Debit transactions are not approved on the bank account.".to_owned(),
        "invalid_currency" => "The bank was unable to process this payout because of its currency.".to_owned(),
        "could_not_process" => "The bank could not process this payout.".to_owned(),
        other => format!("The payout failed: {other}."),
    }
}

fn txn(id: &str, leg: &str) -> String {
    format!("txn_{}_{leg}", tail(id))
}

fn tail(id: &str) -> &str {
    id.split_once('_').map_or(id, |(_, tail)| tail)
}
