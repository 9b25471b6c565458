//! What the Stripe CLI's own output says about its state (stripe 1.52, `listen --log-level debug`).

use super::key::scrub;

/// One line's news.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The socket to Stripe stands.
    Connected,
    /// The socket is gone; events sent until the next `Connected` may never come.
    Disconnected,
    /// An event was passed on.
    Forwarded,
    /// An event could not be delivered to us, or we refused it: the CLI posts once and never again.
    Lost,
    /// No key and no login.
    NotLoggedIn,
    /// It ends because of this.
    Fatal(String),
}

/// Reads one line of standard output or standard error. Most lines say nothing.
pub fn read(line: &str) -> Option<News> {
    if let Some(level) = field(line, "level=") {
        let message = field(line, "msg=").unwrap_or_default();
        return match (level, message) {
            (_, "Connected!") => Some(News::Connected),
            (_, "Disconnected from Stripe") => Some(News::Disconnected),
            ("fatal" | "panic", message) => Some(News::Fatal(scrub(message))),
            _ => None,
        };
    }
    if line.contains("You have not configured API keys yet") {
        return Some(News::NotLoggedIn);
    }
    let text = line.get(20..)?.trim_start();
    if text.starts_with("--> ") {
        return Some(News::Forwarded);
    }
    let answer = text.strip_prefix("<--").map(str::trim_start);
    if text.starts_with("[ERROR]") || answer.is_some_and(|a| a.starts_with('[') && !a.starts_with("[2")) {
        return Some(News::Lost);
    }
    None
}

/// The value after `name` in a logfmt line; a quoted one runs to the quote before the next field or the end.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let at = line.find(&format!(" {name}")).map(|i| i + 1).or_else(|| line.starts_with(name).then_some(0))?;
    let value = &line[at + name.len()..];
    match value.strip_prefix('"') {
        // The CLI does not escape quotes inside, so the value ends at the last quote that a field or nothing follows.
        Some(quoted) => {
            let end = quoted.find("\" prefix=").or_else(|| quoted.find("\" error=")).or_else(|| quoted.rfind('"'))?;
            Some(&quoted[..end])
        }
        None => value.split(' ').next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cli_output_is_understood() {
        let debug = |msg: &str| {
            format!(r#"time="Tue, 01 Dec 2026 12:38:17 UTC" level=debug msg={msg} prefix=websocket.Client.Run"#)
        };
        for (line, want) in [
            (debug("\"Connected!\""), Some(News::Connected)),
            (debug("\"Disconnected from Stripe\""), Some(News::Disconnected)),
            (debug("stopWritePump"), None),
            (debug("\"Sending ping message\""), None),
            ("Getting ready...".into(), None),
            ("Ready! Your webhook signing secret is whsec_fake (^C to quit)".into(), None),
            ("2026-12-01 12:37:42   --> payout.paid [evt_1]".into(), Some(News::Forwarded)),
            ("2026-12-01 12:37:42  <--  [200] POST http://127.0.0.1:4242/webhook [evt_1]".into(), None),
            ("2026-12-01 12:37:42  <--  [503] POST http://127.0.0.1:4242/webhook [evt_1]".into(), Some(News::Lost)),
            (
                "2026-12-01 12:37:42            [ERROR] Failed to POST: Post \"http://x\": refused".into(),
                Some(News::Lost),
            ),
            ("You have not configured API keys yet".into(), Some(News::NotLoggedIn)),
            (String::new(), None),
            ("é --> short".into(), None),
        ] {
            assert_eq!(read(&line), want, "{line}");
        }
        let fatal = r#"time="x" level=fatal msg="Error while authenticating with Stripe: Authorization failed, status=401, body={"error": {"message": "Invalid API Key provided: sk_test_****1"}}""#;
        match read(fatal) {
            Some(News::Fatal(text)) => {
                assert!(text.contains("status=401") && text.ends_with("sk_test_…\"}}"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
}
