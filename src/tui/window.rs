//! A list of any length: only the rows around the selection are in memory, and the selection stays on its row while
//! data moves.

use crate::store::error::StoreError;
use crate::store::view::Page;

/// Rows fetched at a time, on each side.
const CHUNK: usize = 120;
/// Rows kept at the most.
const KEPT: usize = 720;

/// Where the rows come from.
pub trait Rows {
    /// One row.
    type Row;
    /// What tells rows apart, whatever moves.
    type Key: PartialEq + Clone;
    /// A place in the order.
    type Cursor: PartialEq + Clone;
    /// A page.
    fn page(&self, page: &Page<Self::Cursor>) -> Result<Vec<Self::Row>, StoreError>;
    /// One row again; `None` when it is gone.
    fn find(&self, key: &Self::Key) -> Result<Option<Self::Row>, StoreError>;
    /// A row's key.
    fn key(row: &Self::Row) -> Self::Key;
    /// A row's place.
    fn cursor(&self, row: &Self::Row) -> Self::Cursor;
}

/// The rows in memory and which one is selected.
#[derive(Debug, Clone)]
pub struct Window<R> {
    /// Rows in order.
    pub rows: Vec<R>,
    /// Index of the selected row.
    pub selected: usize,
    /// Index of the first row drawn.
    pub offset: usize,
    /// Whether the first row in memory is the list's first.
    pub starts: bool,
    /// Whether the last row in memory is the list's last.
    pub ends: bool,
    /// Stay at the top when new rows come. Off as soon as the person moves away from it.
    pub follow: bool,
}

impl<R> Default for Window<R> {
    fn default() -> Self {
        Self { rows: Vec::new(), selected: 0, offset: 0, starts: true, ends: true, follow: true }
    }
}

impl<R> Window<R> {
    /// The selected row.
    pub fn current(&self) -> Option<&R> {
        self.rows.get(self.selected)
    }

    /// Reads again after something changed. The selection stays on its row; if that is gone, on its neighbour.
    pub fn reload<S: Rows<Row = R>>(&mut self, source: &S) -> Result<(), StoreError> {
        let Some(current) = self.rows.get(self.selected).filter(|_| !self.follow) else {
            return self.load_top(source);
        };
        let above = self.selected.saturating_sub(self.offset);
        let old_place = source.cursor(current);
        let row = source.find(&S::key(current))?;
        let place = row.as_ref().map_or(old_place, |row| source.cursor(row));
        let before = source.page(&Page { cursor: Some(place.clone()), before: true, limit: CHUNK })?;
        let after = source.page(&Page { cursor: Some(place), before: false, limit: CHUNK })?;
        self.starts = before.len() < CHUNK;
        self.ends = after.len() < CHUNK;
        self.selected = before.len();
        self.rows = before.into_iter().chain(row).chain(after).collect();
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
        self.offset = self.selected.saturating_sub(above);
        if self.rows.is_empty() {
            self.load_top(source)?;
        }
        Ok(())
    }

    fn load_top<S: Rows<Row = R>>(&mut self, source: &S) -> Result<(), StoreError> {
        self.rows = source.page(&Page { cursor: None, before: false, limit: CHUNK })?;
        (self.starts, self.ends) = (true, self.rows.len() < CHUNK);
        (self.selected, self.offset, self.follow) = (0, 0, true);
        Ok(())
    }

    /// Goes to the first row and follows.
    pub fn first<S: Rows<Row = R>>(&mut self, source: &S) -> Result<(), StoreError> {
        self.load_top(source)
    }

    /// Goes to the last row.
    pub fn last<S: Rows<Row = R>>(&mut self, source: &S) -> Result<(), StoreError> {
        if !self.ends {
            self.rows = source.page(&Page { cursor: None, before: true, limit: CHUNK })?;
            (self.starts, self.ends) = (self.rows.len() < CHUNK, true);
        }
        self.selected = self.rows.len().saturating_sub(1);
        self.follow = self.selected == 0;
        Ok(())
    }

    /// Moves by rows, down or up, fetching what is needed.
    pub fn step<S: Rows<Row = R>>(&mut self, source: &S, by: i64) -> Result<(), StoreError> {
        let distance = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
        if by > 0 {
            while self.selected.saturating_add(distance) >= self.rows.len() && !self.ends {
                let Some(last) = self.rows.last() else { break };
                let page = Page { cursor: Some(source.cursor(last)), before: false, limit: CHUNK };
                let more = source.page(&page)?;
                self.ends = more.len() < CHUNK;
                self.rows.extend(more);
                let surplus = self.rows.len().saturating_sub(KEPT).min(self.offset.min(self.selected));
                if surplus > 0 {
                    self.rows.drain(..surplus);
                    (self.selected, self.offset, self.starts) = (self.selected - surplus, self.offset - surplus, false);
                }
            }
            self.selected = self.selected.saturating_add(distance).min(self.rows.len().saturating_sub(1));
        } else {
            while distance > self.selected && !self.starts {
                let Some(first) = self.rows.first() else { break };
                let page = Page { cursor: Some(source.cursor(first)), before: true, limit: CHUNK };
                let mut more = source.page(&page)?;
                self.starts = more.len() < CHUNK;
                let added = more.len();
                more.append(&mut self.rows);
                self.rows = more;
                (self.selected, self.offset) = (self.selected + added, self.offset + added);
                if self.rows.len() > KEPT {
                    let keep = KEPT.max(self.selected + 1);
                    self.ends &= self.rows.len() <= keep;
                    self.rows.truncate(keep);
                }
            }
            self.selected = self.selected.saturating_sub(distance);
        }
        self.follow = self.selected == 0 && self.starts;
        Ok(())
    }

    /// Keeps the selection inside `height` drawn rows.
    pub fn scroll_into(&mut self, height: usize) {
        if self.selected < self.offset {
            self.offset = self.selected;
        } else if height > 0 && self.selected >= self.offset + height {
            self.offset = self.selected + 1 - height;
        }
        self.offset = self.offset.min(self.rows.len().saturating_sub(height.min(self.rows.len())));
    }

    /// The rows to draw, with whether each is the selected one.
    pub fn visible(&self, height: usize) -> impl Iterator<Item = (bool, &R)> {
        let rows = self.rows.iter().enumerate().skip(self.offset).take(height);
        rows.map(|(i, row)| (i == self.selected, row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers, greatest first.
    struct Numbers(Vec<i64>);

    impl Rows for Numbers {
        type Row = i64;
        type Key = i64;
        type Cursor = i64;

        fn page(&self, page: &Page<i64>) -> Result<Vec<i64>, StoreError> {
            let mut all = self.0.clone();
            all.sort_unstable_by_key(|n| std::cmp::Reverse(*n));
            Ok(if page.before {
                let mut rows: Vec<i64> =
                    all.into_iter().rev().filter(|n| page.cursor.is_none_or(|c| *n > c)).take(page.limit).collect();
                rows.reverse();
                rows
            } else {
                all.into_iter().filter(|n| page.cursor.is_none_or(|c| *n < c)).take(page.limit).collect()
            })
        }

        fn find(&self, key: &i64) -> Result<Option<i64>, StoreError> {
            Ok(self.0.contains(key).then_some(*key))
        }

        fn key(row: &i64) -> i64 {
            *row
        }

        fn cursor(&self, row: &i64) -> i64 {
            *row
        }
    }

    proptest! {
        #[test]
        fn the_selection_stays_on_its_row(
            start in proptest::collection::btree_set(0_i64..5_000, 1..900),
            moves in proptest::collection::vec(-400_i64..400, 1..12),
            changes in proptest::collection::vec((0_i64..5_000, any::<bool>()), 0..60),
        ) {
            let mut source = Numbers(start.into_iter().collect());
            let mut window = Window::default();
            window.reload(&source).unwrap();
            for by in moves {
                window.step(&source, by).unwrap();
                let before = *window.current().unwrap();
                let follows = window.follow;
                for (n, add) in &changes {
                    if *add && !source.0.contains(n) {
                        source.0.push(*n);
                    } else if *n != before && source.0.len() > 1 {
                        source.0.retain(|x| x != n);
                    }
                }
                window.reload(&source).unwrap();
                if !follows {
                    prop_assert_eq!(*window.current().unwrap(), before);
                }
                window.scroll_into(10);
                prop_assert!(window.visible(10).filter(|(selected, _)| *selected).count() == 1);
                prop_assert!(window.rows.len() <= 2 * KEPT);
                prop_assert!(window.rows.windows(2).all(|w| w[0] > w[1]), "in order, none twice");
            }
        }
    }
}
