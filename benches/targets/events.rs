//! Events of one to three kilobytes, two on the average as Stripe's are, funded so that every one applies: charge, transfer, and a payout's three events.

/// The stream's `n`th event body. Every group of five belongs together; `accounts` sellers take turns.
pub fn body(n: u64, accounts: u64) -> String {
    let (group, step) = (n / 5, n % 5);
    let created = 1_760_000_000 + group;
    let seller = format!("acct_1Bench{:06}", group % accounts);
    let (kind, account, object) = match step {
        0 => ("charge.succeeded", None, charge(group, n)),
        1 => ("transfer.created", None, transfer(group, n, &seller)),
        2 => ("payout.created", Some(seller.as_str()), payout(group, n, "pending")),
        3 => ("payout.updated", Some(seller.as_str()), payout(group, n, "in_transit")),
        _ => ("payout.paid", Some(seller.as_str()), payout(group, n, "paid")),
    };
    let account = account.map(|id| format!("\n  \"account\": \"{id}\",")).unwrap_or_default();
    format!(
        "{{\n  \"id\": \"evt_1Bench{n:014}\",\n  \"object\": \"event\",{account}\n  \"api_version\": \"2026-10-28.endive\",\n  \
         \"created\": {created},\n  \"data\": {{\n    \"object\": {object}\n  }},\n  \"livemode\": false,\n  \
         \"pending_webhooks\": 1,\n  \"request\": {{\n    \"id\": \"req_bench{n}\",\n    \"idempotency_key\": null\n  }},\n  \
         \"type\": \"{kind}\"\n}}"
    )
}

fn charge(group: u64, n: u64) -> String {
    format!(
        "{{\"id\": \"ch_1Bench{group}\", \"object\": \"charge\", \"amount\": 5000, \"amount_captured\": 5000, \
         \"amount_refunded\": 0, \"captured\": true, \"currency\": \"usd\", \"status\": \"succeeded\", {}}}",
        filler(n)
    )
}

fn transfer(group: u64, n: u64, seller: &str) -> String {
    format!(
        "{{\"id\": \"tr_1Bench{group}\", \"object\": \"transfer\", \"amount\": 4000, \"amount_reversed\": 0, \
         \"currency\": \"usd\", \"destination\": \"{seller}\", {}}}",
        filler(n)
    )
}

fn payout(group: u64, n: u64, status: &str) -> String {
    format!(
        "{{\"id\": \"po_1Bench{group}\", \"object\": \"payout\", \"amount\": 3000, \"arrival_date\": 1760054400, \
         \"automatic\": true, \"currency\": \"usd\", \"description\": \"STRIPE PAYOUT\", \"failure_code\": null, \
         \"method\": \"standard\", \"status\": \"{status}\", \"type\": \"bank_account\", {}}}",
        filler(n)
    )
}

/// Fields that no rule needs, as real objects have many of: some more, some fewer.
fn filler(n: u64) -> String {
    let fields: Vec<String> =
        (0..12 + n * 7_919 % 43).map(|i| format!("\n      \"unused_field_{i:02}\": \"text of field {i}\"")).collect();
    fields.join(",")
}
