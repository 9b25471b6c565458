//! The empty screen teaches: the exact command that forwards events here, and what is still missing.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::data::Data;
use crate::tui::paint::put;
use crate::tui::screen::Look;

/// The command that forwards test events here.
pub fn forward_command(data: &Data) -> String {
    let endpoint = data.link.endpoint.as_deref().unwrap_or("http://127.0.0.1:4242/webhook");
    let address = endpoint.strip_prefix("http://").unwrap_or(endpoint);
    format!("stripe listen --all-snapshot --forward-to {address}")
}

/// Draws it.
pub fn draw(area: Rect, buf: &mut Buffer, look: Look<'_>, data: &Data) {
    let theme = look.theme;
    let left = if area.width >= 100 { 18 } else { 2 };
    let area = Rect { x: area.x + left, width: area.width.saturating_sub(left), ..area };
    let mut y = if area.height > 24 { 3 } else { 1 };
    put(buf, area, 0, y, "No payouts yet.", theme.heading);
    y += 2;
    let mut step = |number: &str, what: &str, lines: &[(&str, &str)], y: &mut u16| {
        put(buf, area, 0, *y, number, theme.key);
        put(buf, area, 3, *y, what, theme.text);
        *y += 1;
        for (line, key) in lines {
            let x = put(buf, area, 3, *y, line, theme.accent);
            put(buf, area, x + 3, *y, key, theme.muted);
            *y += 1;
        }
        if area.height > 20 {
            *y += 1;
        }
    };
    let command = forward_command(data);
    if data.link.endpoint.is_none() {
        step("1", "Another process receives; this is a view on its database.", &[], &mut y);
    } else {
        step("1", "Forward your test events here", &[(&command, "y  copy")], &mut y);
        step("2", "It prints a secret (whsec_…): paste it here", &[("S", "paste the secret")], &mut y);
        step("3", "Make a payout happen, in another terminal", &[("stripe trigger payout.created", "")], &mut y);
        let all = "payout-ledger trigger payout.returned --fund";
        step(
            "4",
            "Or simulate one: paid, failed, canceled, returned",
            &[(all, "with STRIPE_WEBHOOK_SECRET set")],
            &mut y,
        );
        step("5", "No Stripe account at hand", &[("payout-ledger demo", "eight scenarios")], &mut y);
    }
    put(buf, area, 0, y, "▎ Checks", theme.heading);
    let refused = data.link.rejections.total();
    let secret = if data.link.endpoint.is_none() || data.link.unsigned || !data.link.secrets.is_empty() {
        ("✓", theme.ok, "a signing secret is set".to_owned())
    } else {
        ("!", theme.warn, format!("no signing secret: every delivery is refused ({refused} so far)"))
    };
    let health = data.link.health.lock().ok().and_then(|h| h.failure.clone());
    let database = match health {
        None => ("✓", theme.ok, format!("the database {} is writable", data.database.display())),
        Some(why) => ("✗", theme.err, why),
    };
    for (glyph, style, text) in [secret, database] {
        y += 1;
        let x = put(buf, area, 2, y, glyph, style) + 1;
        put(buf, area, x, y, &text, theme.text);
    }
    if let Some(last) = data.link.rejections.all().first() {
        y += 1;
        let x = put(buf, area, 2, y, "!", theme.warn) + 1;
        put(buf, area, x, y, &format!("last refused: {}", last.last), theme.text);
    }
}
