//! What lies over a screen: questions, help, the palette, longer text. Nothing opens by itself.

mod alerts;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Block, BorderType, Clear, Widget};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;
use unicode_width::UnicodeWidthStr;

use super::action::{Action, BINDINGS, Scope, shown};
use super::paint::put;
use super::screen::{Cx, Look};
use super::text::wrap;

pub use alerts::Alerts;

/// Called with the typed text when a question is answered.
pub type Answer = Box<dyn FnOnce(&mut Cx<'_>, String)>;

/// One thing over the screen.
pub enum Overlay {
    /// A question with a text field.
    Prompt {
        /// What is asked.
        title: String,
        /// What it means, line by line.
        lines: Vec<String>,
        /// The field.
        input: Input,
        /// Whether what is typed is hidden.
        secret: bool,
        /// What to do with the answer.
        done: Option<Answer>,
    },
    /// A yes or no; no is in focus.
    Confirm {
        /// What is asked.
        title: String,
        /// What it means, line by line.
        lines: Vec<String>,
        /// The word for yes.
        yes: String,
        /// Whether yes is in focus.
        focused: bool,
        /// What yes does.
        done: Option<Answer>,
    },
    /// Text to read; scrolls.
    Text {
        /// What it is.
        title: String,
        /// Its lines.
        lines: Vec<String>,
        /// First line shown.
        offset: usize,
        /// What is looked for in it.
        search: Option<Input>,
        /// What `y` copies.
        copy: String,
    },
    /// The list of alerts.
    Alerts(Alerts),
    /// Actions by name (`palette`) or the keys of a place (`help`).
    Actions {
        /// Whose keys.
        scope: Scope,
        /// What is typed.
        input: Input,
        /// Which row.
        selected: usize,
        /// Whether it is the help.
        help: bool,
    },
}

/// What became of a key.
pub enum Outcome {
    /// It stays.
    Open,
    /// It closes.
    Closed,
    /// It closes and this is done.
    Do(Action),
    /// It closes with an answer.
    Answer(Answer, String),
}

impl Overlay {
    /// A question with a text field.
    pub fn prompt(title: &str, lines: Vec<String>, done: impl FnOnce(&mut Cx<'_>, String) + 'static) -> Self {
        let title = title.to_owned();
        Self::Prompt { title, lines, input: Input::default(), secret: false, done: Some(Box::new(done)) }
    }

    /// A yes or no.
    pub fn confirm(title: &str, lines: Vec<String>, yes: &str, done: impl FnOnce(&mut Cx<'_>) + 'static) -> Self {
        let done: Answer = Box::new(move |cx, _| done(cx));
        Self::Confirm { title: title.to_owned(), lines, yes: yes.to_owned(), focused: false, done: Some(done) }
    }

    /// Text to read.
    pub fn text(title: &str, lines: Vec<String>) -> Self {
        let copy = lines.join("\n");
        Self::Text { title: title.to_owned(), lines, offset: 0, search: None, copy }
    }

    /// Pasted text is text, never keys.
    pub fn paste(&mut self, text: &str) {
        let field = match self {
            Self::Prompt { input, .. } | Self::Actions { input, .. } => input,
            Self::Text { search: Some(input), .. } => input,
            _ => return,
        };
        for c in text.chars().filter(|c| !c.is_control()) {
            field.handle(tui_input::InputRequest::InsertChar(c));
        }
    }

    /// Handles a key.
    pub fn key(&mut self, key: &KeyEvent) -> Outcome {
        if key.code == KeyCode::Esc || (key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL) {
            if let Self::Text { search: search @ Some(_), .. } = self {
                *search = None;
                return Outcome::Open;
            }
            return Outcome::Closed;
        }
        match self {
            Self::Prompt { input, done, .. } => {
                if key.code == KeyCode::Enter {
                    let text = input.value().to_owned();
                    return done.take().map_or(Outcome::Closed, |done| Outcome::Answer(done, text));
                }
                input.handle_event(&Event::Key(*key));
            }
            Self::Confirm { focused, done, .. } => match key.code {
                KeyCode::Char('y') => {
                    return done.take().map_or(Outcome::Closed, |d| Outcome::Answer(d, String::new()));
                }
                KeyCode::Char('n' | 'q') => return Outcome::Closed,
                KeyCode::Enter if *focused => {
                    return done.take().map_or(Outcome::Closed, |d| Outcome::Answer(d, String::new()));
                }
                KeyCode::Enter => return Outcome::Closed,
                KeyCode::Tab | KeyCode::BackTab | KeyCode::Left | KeyCode::Right => *focused = !*focused,
                _ => {}
            },
            Self::Alerts(alerts) => return alerts.key(key),
            Self::Text { lines, offset, search, .. } => return text_key(key, lines, offset, search),
            Self::Actions { scope, input, selected, help } => {
                let found = matches(*scope, input.value(), *help);
                match key.code {
                    KeyCode::Enter if *help => return Outcome::Closed,
                    KeyCode::Enter => {
                        return found.get(*selected).map_or(Outcome::Closed, |action| Outcome::Do(*action));
                    }
                    KeyCode::Down => *selected = (*selected + 1).min(found.len().saturating_sub(1)),
                    KeyCode::Up => *selected = selected.saturating_sub(1),
                    KeyCode::Char('q' | '?') if *help && input.value().is_empty() => return Outcome::Closed,
                    _ => {
                        input.handle_event(&Event::Key(*key));
                        *selected = 0;
                    }
                }
            }
        }
        Outcome::Open
    }

    /// Draws it over the screen.
    pub fn draw(&self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        match self {
            Self::Prompt { title, lines, input, secret, .. } => {
                draw_prompt(area, buf, look, title, lines, input, *secret)
            }
            Self::Confirm { title, lines, yes, focused, .. } => {
                draw_confirm(area, buf, look, title, lines, yes, *focused)
            }
            Self::Text { title, lines, offset, search, .. } => {
                let inner = frame(area, buf, look, title, area.width.saturating_sub(4), area.height.saturating_sub(4));
                let needle = search.as_ref().map(|s| s.value().to_lowercase()).filter(|s| !s.is_empty());
                for (y, line) in (0..inner.height.saturating_sub(1)).zip(lines.iter().skip(*offset)) {
                    let hit = needle.as_ref().is_some_and(|n| line.to_lowercase().contains(n));
                    put(buf, inner, 0, y, line, if hit { look.theme.accent } else { look.theme.text });
                }
                let foot = match search {
                    Some(input) => format!("/{}   ↵ next   esc done", input.value()),
                    None => format!(
                        "{}–{} of {}   / find   y copy   esc close",
                        offset + 1,
                        lines.len().min(offset + usize::from(inner.height.saturating_sub(1))),
                        lines.len()
                    ),
                };
                put(buf, inner, 0, inner.height.saturating_sub(1), &foot, look.theme.muted);
            }
            Self::Alerts(alerts) => alerts.draw(area, buf, look),
            Self::Actions { scope, input, selected, help } => {
                draw_actions(area, buf, look, *scope, input, *selected, *help);
            }
        }
    }
}

fn text_key(key: &KeyEvent, lines: &[String], offset: &mut usize, search: &mut Option<Input>) -> Outcome {
    let last = lines.len().saturating_sub(1);
    if let Some(input) = search {
        if key.code == KeyCode::Enter {
            let needle = input.value().to_lowercase();
            let hits = lines.iter().enumerate().filter(|(_, l)| l.to_lowercase().contains(&needle)).map(|(i, _)| i);
            let hits: Vec<usize> = hits.collect();
            if let Some(next) = hits.iter().find(|i| **i > *offset).or(hits.first()) {
                *offset = *next;
            }
        } else {
            input.handle_event(&Event::Key(*key));
        }
        return Outcome::Open;
    }
    match key.code {
        KeyCode::Char('q') | KeyCode::Enter => return Outcome::Closed,
        KeyCode::Char('y') => return Outcome::Do(Action::Copy),
        KeyCode::Char('/') => *search = Some(Input::default()),
        KeyCode::Down | KeyCode::Char('j') => *offset = (*offset + 1).min(last),
        KeyCode::Up | KeyCode::Char('k') => *offset = offset.saturating_sub(1),
        KeyCode::PageDown | KeyCode::Char('d' | ' ') => *offset = (*offset + 15).min(last),
        KeyCode::PageUp | KeyCode::Char('u') => *offset = offset.saturating_sub(15),
        KeyCode::Home | KeyCode::Char('g') => *offset = 0,
        KeyCode::End | KeyCode::Char('G') => *offset = last,
        _ => {}
    }
    Outcome::Open
}

/// The actions that fit a typed text, best first (palette), or the keys of a place in the table's order (help).
pub fn matches(scope: Scope, typed: &str, help: bool) -> Vec<Action> {
    let all = BINDINGS.iter().filter(|b| b.works_in(scope));
    if help || typed.is_empty() {
        let typed = typed.to_lowercase();
        let fits = |about: &str, keys: &[&str]| about.to_lowercase().contains(&typed) || keys.contains(&typed.as_str());
        return all.filter(|b| fits(b.about, b.keys)).map(|b| b.action).collect();
    }
    let mut matcher = nucleo_matcher::Matcher::new(nucleo_matcher::Config::DEFAULT);
    let pattern = nucleo_matcher::pattern::Pattern::parse(
        typed,
        nucleo_matcher::pattern::CaseMatching::Ignore,
        nucleo_matcher::pattern::Normalization::Smart,
    );
    let named: Vec<(&str, Action)> = all.map(|b| (b.about, b.action)).collect();
    let abouts = named.iter().map(|(about, _)| *about);
    let ranked = pattern.match_list(abouts, &mut matcher);
    ranked
        .into_iter()
        .filter_map(|(about, _)| named.iter().find(|(a, _)| *a == about).map(|(_, action)| *action))
        .collect()
}

/// A rounded box in the middle; returns its inside.
fn frame(area: Rect, buf: &mut Buffer, look: Look<'_>, title: &str, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    let outer = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    Clear.render(outer, buf);
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(look.theme.border)
        .title_style(look.theme.heading)
        .title(format!(" {} ", super::text::cut(title, usize::from(width.saturating_sub(6)))));
    let inner = block.inner(outer);
    block.render(outer, buf);
    Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner }
}

fn draw_prompt(
    area: Rect,
    buf: &mut Buffer,
    look: Look<'_>,
    title: &str,
    lines: &[String],
    input: &Input,
    secret: bool,
) {
    let width = 78.min(area.width.saturating_sub(2));
    let lines: Vec<String> = lines.iter().flat_map(|l| wrap(l, usize::from(width.saturating_sub(4)))).collect();
    let height = u16::try_from(lines.len()).unwrap_or(4) + 5;
    let inner = frame(area, buf, look, title, width, height);
    for (y, line) in (0..).zip(&lines) {
        put(buf, inner, 0, y, line, look.theme.text);
    }
    let y = inner.height.saturating_sub(4);
    let value = if secret { "•".repeat(input.value().chars().count()) } else { input.value().to_owned() };
    let room = usize::from(inner.width).saturating_sub(3);
    let skip = value.chars().count().saturating_sub(room);
    let value: String = value.chars().skip(skip).collect();
    let x = put(buf, inner, 0, y + 1, "> ", look.theme.key);
    let before: String = value.chars().take(input.cursor().saturating_sub(skip)).collect();
    put(buf, inner, x, y + 1, &value, look.theme.heading);
    let cursor = x + u16::try_from(before.width()).unwrap_or(0);
    if cursor < inner.width && y + 1 < inner.height {
        let cell = Rect { x: inner.x + cursor, y: inner.y + y + 1, width: 1, height: 1 };
        buf.set_style(cell, Style::default().add_modifier(Modifier::REVERSED));
    }
    put(buf, inner, 0, inner.height.saturating_sub(1), "↵ go on   esc leave it", look.theme.muted);
}

fn draw_confirm(area: Rect, buf: &mut Buffer, look: Look<'_>, title: &str, lines: &[String], yes: &str, focused: bool) {
    let width = 74.min(area.width.saturating_sub(2));
    let lines: Vec<String> = lines.iter().flat_map(|l| wrap(l, usize::from(width.saturating_sub(4)))).collect();
    let height = u16::try_from(lines.len()).unwrap_or(4) + 4;
    let inner = frame(area, buf, look, title, width, height);
    for (y, line) in (0..).zip(&lines) {
        put(buf, inner, 0, y, line, look.theme.text);
    }
    let y = inner.height.saturating_sub(1);
    let style = |on: bool| if on { look.theme.selection } else { look.theme.text };
    let x = put(buf, inner, 2, y, " Keep ", style(!focused));
    let x = put(buf, inner, x + 3, y, &format!(" {yes} "), style(focused));
    put(buf, inner, x + 4, y, "tab ↵   y n   esc", look.theme.muted);
}

fn draw_actions(
    area: Rect,
    buf: &mut Buffer,
    look: Look<'_>,
    scope: Scope,
    input: &Input,
    selected: usize,
    help: bool,
) {
    let found = matches(scope, input.value(), help);
    let height = if help { area.height.saturating_sub(2) } else { 16.min(area.height) };
    let name = if help { "Keys of this place" } else { "Every action" };
    let inner = frame(area, buf, look, name, 80.min(area.width.saturating_sub(2)), height);
    put(buf, inner, 0, 0, &format!("> {}", input.value()), look.theme.heading);
    let rows = usize::from(inner.height.saturating_sub(2));
    let first = selected.saturating_sub(rows.saturating_sub(1));
    for (y, (i, action)) in (1..).zip(found.iter().enumerate().skip(first).take(rows)) {
        let Some(binding) = BINDINGS.iter().find(|b| b.action == *action && b.works_in(scope)) else { continue };
        let keys: Vec<&str> = binding.keys.iter().map(|k| shown(k)).collect();
        let here = binding.is_local(scope);
        if i == selected && !help {
            let line = Rect { x: inner.x, y: inner.y + y, width: inner.width, height: 1 };
            buf.set_style(line, look.theme.selection);
        }
        put(buf, inner, 1, y, &super::text::fit(&keys.join(" "), 12), look.theme.key);
        put(buf, inner, 14, y, binding.about, if here { look.theme.heading } else { look.theme.text });
    }
    let states = "✓ applied  ~ skipped  … waiting  ! stuck  · ignored  × dismissed";
    let foot = if help { states.to_owned() } else { format!("{} actions   ↑ ↓ ↵   esc", found.len()) };
    put(buf, inner, 0, inner.height.saturating_sub(1), &foot, look.theme.muted);
}
