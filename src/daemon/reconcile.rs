//! Reconcile: reads Stripe's record of one account, compares it with ours, keeps the differences as findings.
//!
//! It only reports. A repair hands what Stripe has to the writer, as an event like any other, and compares again.

use std::collections::{BTreeMap, BTreeSet};

use super::intake::{Intake, Taken};
use super::side_error::SideError;
use crate::domain::alert::{Alert, AlertKind};
use crate::domain::money::Currency;
use crate::domain::owner::Owner;
use crate::domain::reconcile::{Balances, Finding, FindingKind, Objects, compare_balances, compare_objects};
use crate::store::findings::Recorded;
use crate::store::side::Side;
use crate::stripe::client::Client;
use crate::stripe::fetched;
use crate::stripe::read::Listed;

/// Objects changed within this many seconds are not flagged: their news may still be on its way.
pub const FRESH: i64 = 60;

/// Paid payouts are looked at again for this long: the bank may return them, and trace ids come late (Stripe: Payouts).
const PAID_DAYS: i64 = 14;

/// What was compared and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reconciled {
    /// Whose record.
    pub owner: Owner,
    /// Payouts and transfers compared.
    pub objects: usize,
    /// Differences that are there now.
    pub findings: Vec<Finding>,
    /// What changed among the kept findings.
    pub recorded: Recorded,
    /// What a repair brought in.
    pub repaired: Taken,
}

/// What Stripe has of one account.
struct There {
    listed: BTreeMap<String, Listed>,
    gone: BTreeSet<String>,
    fresh: BTreeSet<String>,
    balance: BTreeMap<Currency, i64>,
    balance_fresh: bool,
}

/// How to reconcile.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Payouts and transfers created since then, Stripe's unix seconds; open payouts of ours are looked at whatever their age.
    pub since: i64,
    /// Unix seconds.
    pub now: i64,
}

/// Compares one account. Everything is read first; after an error nothing was recorded and no finding was touched.
/// With `repair`, what is missing or differs is brought in through it, and the comparison is made again.
pub async fn reconcile(
    client: &Client,
    side: &Side,
    repair: Option<&mut impl Intake>,
    owner: &Owner,
    window: Window,
) -> Result<Reconciled, SideError> {
    let there = read(client, side, owner, window).await?;
    let mut findings = compare(side, owner, &there)?;
    let mut repaired = Taken::default();
    if let Some(intake) = repair {
        let bodies = bodies(side, &findings, &there, owner, window.now)?;
        if !bodies.is_empty() {
            repaired = intake.take(bodies).await?;
            findings = compare(side, owner, &there)?;
        }
    }
    let now_ms = window.now.saturating_mul(1000);
    let not_judged =
        |object: &str| there.fresh.contains(object) || (there.balance_fresh && object.starts_with("balance "));
    let recorded = side.record(owner, &findings, &not_judged, now_ms)?;
    alert_negative(side, owner, &there.balance, now_ms)?;
    Ok(Reconciled {
        owner: owner.clone(),
        objects: there.listed.len() + there.gone.len(),
        findings,
        recorded,
        repaired,
    })
}

async fn read(client: &Client, side: &Side, owner: &Owner, window: Window) -> Result<There, SideError> {
    // Asked first: what changes after this moment is judged by what the lists below say about it.
    let mut fresh = client.changed_since(owner, window.now - FRESH).await?;
    let mut balance_fresh = !fresh.is_empty();
    let mut listed: BTreeMap<String, Listed> = BTreeMap::new();
    let transfers = match owner.header() {
        None => client.transfers_since(window.since).await?,
        Some(_) => Vec::new(),
    };
    for one in client.payouts_since(owner, window.since).await?.into_iter().chain(transfers) {
        listed.insert(one.known.id.clone(), one);
    }
    let now_ms = window.now.saturating_mul(1000);
    let mut gone = BTreeSet::new();
    for open in side.open_payouts(owner, now_ms - PAID_DAYS * 86_400_000)? {
        if listed.contains_key(&open.id) {
            continue;
        }
        match client.payout(owner, &open.id).await? {
            Some(one) => drop(listed.insert(open.id, one)),
            None => drop(gone.insert(open.id)),
        }
    }
    let balance = client.balance(owner).await?;
    let recent_ms = now_ms - FRESH * 1000;
    for id in listed.keys().chain(&gone) {
        if side.moved_since(id, recent_ms)? {
            fresh.insert(id.clone());
        }
    }
    balance_fresh |= side.last_arrival_ms(owner)?.is_some_and(|ms| ms >= recent_ms);
    Ok(There { listed, gone, fresh, balance, balance_fresh })
}

fn compare(side: &Side, owner: &Owner, there: &There) -> Result<Vec<Finding>, SideError> {
    let mut objects = Objects {
        there: there.listed.values().map(|one| one.known.clone()).collect(),
        gone: there.gone.clone(),
        fresh: there.fresh.clone(),
        ..Objects::default()
    };
    for id in there.listed.keys().chain(&there.gone) {
        objects.here.extend(side.known(id)?);
    }
    let mut findings = compare_objects(&objects);
    let ours = side.balances(owner)?;
    let currencies: BTreeSet<Currency> =
        there.balance.keys().copied().chain(ours.iter().map(|b| b.account.1)).collect();
    let balances: Vec<Balances> = currencies
        .into_iter()
        .map(|currency| Balances {
            account: (owner.clone(), currency),
            there: there.balance.get(&currency).copied().unwrap_or(0),
            here: ours.iter().find(|b| b.account.1 == currency).map_or(0, |b| b.projected),
            fresh: there.balance_fresh,
        })
        .collect();
    findings.extend(compare_balances(&balances));
    Ok(findings)
}

/// What a repair hands to the writer: every object that Stripe has and we lack or have otherwise, and every payout whose
/// trace id came late.
fn bodies(
    side: &Side,
    findings: &[Finding],
    there: &There,
    owner: &Owner,
    now: i64,
) -> Result<Vec<Vec<u8>>, SideError> {
    let mut bodies = Vec::new();
    for one in there.listed.values() {
        let id = &one.known.id;
        let differs = findings.iter().any(|f| f.object == *id && f.kind != FindingKind::MissingThere);
        let late = one.trace_id.is_some() && !there.fresh.contains(id) && side.trace_id(id)? != one.trace_id;
        if differs || late {
            // The lists were read before this moment: an event of this very second is newer.
            bodies.extend(fetched::wrap(owner, id, &one.raw, side.is_live(), now - 1));
        }
    }
    Ok(bodies)
}

fn alert_negative(side: &Side, owner: &Owner, balance: &BTreeMap<Currency, i64>, now_ms: i64) -> Result<(), SideError> {
    for (currency, amount) in balance {
        let alert = Alert {
            kind: AlertKind::Negative,
            object: format!("balance {currency}"),
            account: owner.to_string(),
            text: format!("the balance at Stripe is {}", currency.money(*amount)),
        };
        side.set_alert(&alert, *amount < 0, now_ms)?;
    }
    Ok(())
}

/// R8: what an opening balance has to be so that ours equals Stripe's, for each balance that has none yet and differs.
/// Minor units. Right when nothing is on its way; a later reconcile shows what was.
pub async fn openings(
    client: &Client,
    side: &Side,
    owner: &Owner,
) -> Result<Vec<(crate::domain::guard::Account, i64)>, SideError> {
    let there = client.balance(owner).await?;
    let ours = side.balances(owner)?;
    let currencies: BTreeSet<Currency> = there.keys().copied().chain(ours.iter().map(|b| b.account.1)).collect();
    let mut openings = Vec::new();
    for currency in currencies {
        let own = ours.iter().find(|b| b.account.1 == currency);
        let amount = there.get(&currency).unwrap_or(&0).saturating_sub(own.map_or(0, |b| b.projected));
        if amount != 0 && !own.is_some_and(|b| b.opened) {
            openings.push(((owner.clone(), currency), amount));
        }
    }
    Ok(openings)
}
