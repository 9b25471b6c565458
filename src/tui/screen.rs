//! What a screen is: it reads, draws and acts. Everything it may touch comes in with the call.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::action::{Action, Scope};
use super::data::Data;
use super::notices::Notices;
use super::overlay::Overlay;
use super::text::Zone;
use super::theme::Theme;
use crate::store::error::StoreError;

/// How things look now.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// Colours.
    pub theme: &'a Theme,
    /// Unix milliseconds.
    pub now_ms: i64,
    /// How times are shown.
    pub zone: Zone,
}

/// What an action may do.
pub struct Cx<'a> {
    /// Reading, and a person's deeds.
    pub data: &'a Data,
    /// To say something.
    pub notices: &'a mut Notices,
    /// To ask something: set it and it opens.
    pub overlay: &'a mut Option<Overlay>,
    /// How things look.
    pub look: Look<'a>,
    /// Set when everything should be read again.
    pub reload: bool,
    /// Set when the screen cannot use the action.
    pub unused: bool,
    /// Set to leave.
    pub quit: bool,
    /// Text for the clipboard.
    pub copied: Option<String>,
    /// A filter that was typed, for the screen in front.
    pub typed_filter: Option<String>,
}

impl Cx<'_> {
    /// Sets the filter of the screen in front.
    pub fn set_filter(&mut self, text: String) {
        self.typed_filter = Some(text);
    }
}

/// A tab's screen.
pub trait Screen {
    /// Which keys work now.
    fn scope(&self) -> Scope;
    /// Reads what it shows. Called after something changed and when it comes to the front.
    fn refresh(&mut self, data: &Data) -> Result<(), StoreError>;
    /// Draws itself.
    fn draw(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>);
    /// Acts. What it cannot use it leaves with `cx.unused`.
    fn act(&mut self, action: Action, cx: &mut Cx<'_>) -> Result<(), StoreError>;
    /// The filter as typed; `None` when it has no filter.
    fn filter(&self) -> Option<&str> {
        None
    }
    /// Sets the filter as typed.
    fn set_filter(&mut self, _text: &str) {}
}
