//! Tab 5: outgoing transfers.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::store::error::StoreError;
use crate::tui::action::{Action, Scope};
use crate::tui::data::Data;
use crate::tui::paint::{put, title};
use crate::tui::screen::{Cx, Look, Screen};

/// The screen.
#[derive(Default)]
pub struct Transfers {}

impl Screen for Transfers {
    fn scope(&self) -> Scope {
        Scope::Transfers
    }

    fn refresh(&mut self, _: &Data) -> Result<(), StoreError> {
        Ok(())
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, look: Look<'_>) {
        title(buf, area, 0, look.theme, "Transfers", "");
        put(buf, area, 3, 2, "not on the screen yet: see the command line", look.theme.muted);
    }

    fn act(&mut self, _: Action, cx: &mut Cx<'_>) -> Result<(), StoreError> {
        cx.unused = true;
        Ok(())
    }
}
