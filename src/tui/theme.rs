//! Colours by meaning. A theme is a file of tokens; a state gets its colour in one place.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};

use crate::domain::outcome::State;

/// The themes that are built in.
pub const NAMES: [&str; 5] = ["terminal", "dark", "light", "contrast", "mono"];

/// A style for each meaning.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names are the meanings")]
pub struct Theme {
    pub text: Style,
    pub muted: Style,
    pub faint: Style,
    pub heading: Style,
    pub label: Style,
    pub key: Style,
    pub accent: Style,
    pub border: Style,
    pub selection: Style,
    pub ok: Style,
    pub warn: Style,
    pub err: Style,
    pub info: Style,
    pub live: Style,
    pub test: Style,
    pub path: Style,
    pub ghost: Style,
}

impl Theme {
    /// A built-in theme by name; `Err` names them all.
    pub fn named(name: &str) -> Result<Self, String> {
        let text = match name {
            "terminal" => include_str!("../../assets/themes/terminal.toml"),
            "dark" => include_str!("../../assets/themes/dark.toml"),
            "light" => include_str!("../../assets/themes/light.toml"),
            "contrast" => include_str!("../../assets/themes/contrast.toml"),
            "mono" => include_str!("../../assets/themes/mono.toml"),
            other => return Err(format!("no theme is called {other:?}; there are {}", NAMES.join(", "))),
        };
        Self::parse(text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let tokens: BTreeMap<String, String> = toml::from_str(text).map_err(|e| e.message().to_owned())?;
        let style = |token: &str| {
            let words = tokens.get(token).ok_or_else(|| format!("the theme has no {token}"))?;
            read_style(words).ok_or_else(|| format!("the theme's {token} is no style: {words:?}"))
        };
        Ok(Self {
            text: style("text")?,
            muted: style("muted")?,
            faint: style("faint")?,
            heading: style("heading")?,
            label: style("label")?,
            key: style("key")?,
            accent: style("accent")?,
            border: style("border")?,
            selection: style("selection")?,
            ok: style("ok")?,
            warn: style("warn")?,
            err: style("err")?,
            info: style("info")?,
            live: style("live")?,
            test: style("test")?,
            path: style("path")?,
            ghost: style("ghost")?,
        })
    }

    /// The glyph and style of an inbox state.
    pub fn state(&self, state: &str) -> (&'static str, Style) {
        match State::parse(state) {
            Some(State::Applied) => ("✓", self.ok),
            Some(State::Skipped) => ("~", self.muted),
            Some(State::Waiting) => ("…", self.warn),
            Some(State::Stuck) => ("!", self.err),
            Some(State::Ignored) => ("·", self.faint),
            Some(State::Dismissed) => ("×", self.faint),
            Some(State::Received) => ("○", self.info),
            None => ("?", self.err),
        }
    }

    /// The glyph and style of a payout's status.
    pub fn status(&self, status: &str) -> (&'static str, Style) {
        match status {
            "pending" => ("◦", self.info),
            "in_transit" => ("▸", self.info),
            "paid" => ("✓", self.ok),
            "failed" => ("✗", self.err),
            "canceled" => ("⊘", self.muted),
            _ => ("?", self.err),
        }
    }
}

/// `foreground [on background] [bold|dim|reversed|underlined]…`.
fn read_style(words: &str) -> Option<Style> {
    let mut style = Style::default();
    let mut words = words.split_whitespace();
    let foreground: Color = words.next()?.parse().ok()?;
    if foreground != Color::Reset {
        style = style.fg(foreground);
    }
    while let Some(word) = words.next() {
        style = match word {
            "on" => style.bg(words.next()?.parse().ok()?),
            "bold" => style.add_modifier(Modifier::BOLD),
            "dim" => style.add_modifier(Modifier::DIM),
            "reversed" => style.add_modifier(Modifier::REVERSED),
            "underlined" => style.add_modifier(Modifier::UNDERLINED),
            _ => return None,
        };
    }
    Some(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_theme_is_whole_and_mono_has_no_colour() {
        for name in NAMES {
            Theme::named(name).unwrap();
        }
        assert!(Theme::named("pink").unwrap_err().contains("terminal"));
        let mono = Theme::named("mono").unwrap();
        assert!(mono.selection.add_modifier.contains(Modifier::REVERSED));
        assert!(!include_str!("../../assets/themes/mono.toml").contains('"') || mono.err.fg.is_none());
    }
}
