//! Which events a simulated change makes: those that come before it at Stripe, linked by the object's id, then itself.

use super::Envelope;
use super::objects::{self, DisputeMoney, Payout};
use crate::domain::payout::Status;

/// What can be triggered. `payout.returned` is a payout that the bank returns after it was paid.
pub const KINDS: [&str; 18] = [
    "payout.created",
    "payout.updated",
    "payout.paid",
    "payout.failed",
    "payout.canceled",
    "payout.returned",
    "charge.succeeded",
    "transfer.created",
    "transfer.reversed",
    "refund.created",
    "refund.failed",
    "topup.succeeded",
    "topup.failed",
    "topup.reversed",
    "application_fee.created",
    "application_fee.refunded",
    "charge.dispute.funds_withdrawn",
    "charge.dispute.funds_reinstated",
];

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// One of [`KINDS`].
    pub kind: &'a str,
    /// The connected account; none for the platform. The seller of a transfer or an application fee.
    pub account: Option<&'a str>,
    /// Minor units.
    pub amount: i64,
    /// Lower-case code.
    pub currency: &'a str,
    /// Why a payout fails.
    pub failure_code: Option<&'a str>,
    /// A payout that exists, and its status where that is known: only what follows is made.
    pub payout: Option<(&'a str, Option<Status>)>,
    /// Also the charge that funds a payout.
    pub fund: bool,
    /// Makes ids unique.
    pub tag: &'a str,
    /// Unix seconds of the last event; those before it are a second apart.
    pub now: i64,
}

/// One event, ready to be signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulated {
    /// `evt_…`.
    pub id: String,
    /// Stripe's type.
    pub kind: String,
    /// Id of its object.
    pub object: String,
    /// The JSON.
    pub body: String,
}

/// The events in true order. `Err` is one line that says what to do.
pub fn sequence(wanted: &Wanted<'_>) -> Result<Vec<Simulated>, String> {
    if !KINDS.contains(&wanted.kind) {
        return Err(format!("{:?} cannot be triggered; there are {}", wanted.kind, KINDS.join(", ")));
    }
    let steps = if wanted.kind.starts_with("payout.") { payout_steps(wanted)? } else { other_steps(wanted)? };
    let count = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    let made = steps.into_iter().zip(0i64..).map(|(step, n)| {
        let id = format!("evt_sim{}{n}", wanted.tag);
        let created = wanted.now - (count - 1 - n);
        let envelope = Envelope { id: &id, kind: step.kind, account: step.account.as_deref(), created };
        let object = step.object["id"].as_str().unwrap_or_default().to_owned();
        Simulated { body: envelope.body(step.object, step.previous), kind: step.kind.to_owned(), object, id }
    });
    Ok(made.collect())
}

struct Step {
    kind: &'static str,
    account: Option<String>,
    object: serde_json::Value,
    previous: Option<serde_json::Value>,
}

fn payout_steps(wanted: &Wanted<'_>) -> Result<Vec<Step>, String> {
    let goal: &[Status] = match wanted.kind {
        "payout.created" => &[Status::Pending],
        "payout.updated" => &[Status::Pending, Status::InTransit],
        "payout.paid" => &[Status::Pending, Status::InTransit, Status::Paid],
        "payout.failed" => &[Status::Pending, Status::InTransit, Status::Failed],
        "payout.canceled" => &[Status::Pending, Status::Canceled],
        _ => &[Status::Pending, Status::InTransit, Status::Paid, Status::Failed],
    };
    let last = goal.last().copied().unwrap_or(Status::Pending);
    let ahead: Vec<Status> = match wanted.payout {
        None => goal.to_vec(),
        Some((_, None)) => vec![last],
        Some((id, Some(now))) if now.leads_to(last) => {
            // A return needs the payout to have been paid; nothing else lies between a known state and the wanted one.
            let paid_first = wanted.kind == "payout.returned" && now != Status::Paid;
            if paid_first && !now.leads_to(Status::Paid) {
                return Err(format!("{id} is {now}: it was never paid, so it cannot be returned"));
            }
            if paid_first { vec![Status::Paid, last] } else { vec![last] }
        }
        Some((_, Some(now))) if now == last && wanted.kind == "payout.updated" => vec![last],
        Some((id, Some(now))) => return Err(format!("{id} is {now}: at Stripe it cannot become {last} any more")),
    };
    let id = wanted.payout.map_or_else(|| format!("po_sim{}", wanted.tag), |(id, _)| id.to_owned());
    let born = wanted.now - i64::try_from(ahead.len()).unwrap_or(0) + 1;
    let payout = Payout::new(&id, wanted.amount, wanted.currency, born);
    let account = wanted.account.map(str::to_owned);
    let mut steps = Vec::new();
    if wanted.fund && wanted.amount > 0 {
        let object = objects::charge(&format!("ch_sim{}", wanted.tag), wanted.amount, wanted.currency, born);
        steps.push(Step { kind: "charge.succeeded", account: account.clone(), object, previous: None });
    }
    steps.extend(ahead.into_iter().map(|status| {
        let failure = (status == Status::Failed).then_some(wanted.failure_code.unwrap_or("account_closed"));
        let (kind, previous) = match status {
            Status::Pending => ("payout.created", None),
            Status::InTransit => ("payout.updated", Some(serde_json::json!({ "status": "pending" }))),
            Status::Paid => ("payout.paid", None),
            Status::Failed => ("payout.failed", None),
            Status::Canceled => ("payout.canceled", None),
        };
        let object = payout.with_status(status.as_str(), failure).json();
        Step { kind, account: account.clone(), object, previous }
    }));
    Ok(steps)
}

fn other_steps(wanted: &Wanted<'_>) -> Result<Vec<Step>, String> {
    let Wanted { amount, currency, tag, now, .. } = *wanted;
    if amount <= 0 {
        return Err(format!("{} needs an amount above zero", wanted.kind));
    }
    let seller = || wanted.account.ok_or_else(|| format!("{} needs the seller: --account acct_…", wanted.kind));
    let id = |prefix: &str| format!("{prefix}_sim{tag}");
    let charge = id("ch");
    let own = wanted.account.map(str::to_owned);
    let step = |kind, account: &Option<String>, object| Step { kind, account: account.clone(), object, previous: None };
    Ok(match wanted.kind {
        "charge.succeeded" => vec![step("charge.succeeded", &own, objects::charge(&charge, amount, currency, now))],
        "transfer.created" | "transfer.reversed" => {
            let make =
                |parts: &[i64]| Ok::<_, String>(objects::transfer(&id("tr"), amount, currency, now, seller()?, parts));
            let created = step("transfer.created", &None, make(&[])?);
            if wanted.kind == "transfer.created" {
                vec![created]
            } else {
                vec![created, step("transfer.reversed", &None, make(&[amount])?)]
            }
        }
        "application_fee.created" | "application_fee.refunded" => {
            let make = |parts: &[i64]| {
                Ok::<_, String>(objects::application_fee(&id("fee"), amount, currency, now, seller()?, parts))
            };
            let created = step("application_fee.created", &None, make(&[])?);
            if wanted.kind == "application_fee.created" {
                vec![created]
            } else {
                vec![created, step("application_fee.refunded", &None, make(&[amount])?)]
            }
        }
        "refund.created" | "refund.failed" => {
            let make = |status| objects::refund(&id("re"), amount, currency, now, &charge, status);
            let mut steps = vec![step("refund.created", &own, make("succeeded"))];
            if wanted.kind == "refund.failed" {
                steps.push(step("refund.failed", &own, make("failed")));
            }
            steps
        }
        "topup.succeeded" | "topup.failed" | "topup.reversed" => {
            let make = |status| objects::topup(&id("tu"), amount, currency, now, status);
            let mut steps = vec![step("topup.created", &None, make("pending"))];
            match wanted.kind {
                "topup.failed" => steps.push(step("topup.failed", &None, make("failed"))),
                _ => steps.push(step("topup.succeeded", &None, make("succeeded"))),
            }
            if wanted.kind == "topup.reversed" {
                steps.push(step("topup.reversed", &None, make("reversed")));
            }
            steps
        }
        _ => {
            let make = |money| objects::dispute(&id("dp"), amount, 0, currency, now, &charge, money);
            let mut steps = vec![
                step("charge.dispute.created", &own, make(DisputeMoney::None)),
                step("charge.dispute.funds_withdrawn", &own, make(DisputeMoney::Withdrawn)),
            ];
            if wanted.kind == "charge.dispute.funds_reinstated" {
                steps.push(step("charge.dispute.funds_reinstated", &own, make(DisputeMoney::Reinstated)));
            }
            steps
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::{self, Content};

    fn wanted(kind: &str) -> Wanted<'_> {
        Wanted {
            kind,
            account: Some("acct_sim"),
            amount: 1_100,
            currency: "usd",
            failure_code: None,
            payout: None,
            fund: false,
            tag: "t1",
            now: 1_790_000_000,
        }
    }

    fn kinds(wanted: &Wanted<'_>) -> Vec<String> {
        sequence(wanted).unwrap().into_iter().map(|e| e.kind).collect()
    }

    #[test]
    fn every_kind_is_read_by_a_rule_and_ends_with_itself() {
        for kind in KINDS {
            let events = sequence(&wanted(kind)).unwrap();
            for made in &events {
                let event = event::parse(made.body.as_bytes()).unwrap();
                let harmless =
                    ["topup.created", "topup.failed", "charge.dispute.created"].contains(&made.kind.as_str());
                assert_eq!(matches!(event.content, Content::Snapshot(_)), !harmless, "{kind}: {:?}", event.content);
            }
            let last = &events.last().unwrap().kind;
            assert_eq!(last, if kind == "payout.returned" { "payout.failed" } else { kind });
        }
    }

    #[test]
    fn a_known_payout_only_goes_on() {
        assert_eq!(kinds(&wanted("payout.paid")), ["payout.created", "payout.updated", "payout.paid"]);
        let known = |kind, status| Wanted { payout: Some(("po_known", status)), ..wanted(kind) };
        assert_eq!(kinds(&known("payout.failed", Some(Status::Paid))), ["payout.failed"]);
        assert_eq!(kinds(&known("payout.returned", Some(Status::Pending))), ["payout.paid", "payout.failed"]);
        assert_eq!(kinds(&known("payout.paid", None)), ["payout.paid"]);
        assert_eq!(
            sequence(&known("payout.paid", Some(Status::Failed))).unwrap_err(),
            "po_known is failed: at Stripe it cannot become paid any more"
        );
        assert!(sequence(&wanted("payout.lost")).unwrap_err().contains("payout.returned"));
        let funded = Wanted { fund: true, ..wanted("payout.created") };
        assert_eq!(kinds(&funded), ["charge.succeeded", "payout.created"]);
    }
}
