//! The rows a strategy writes, and the one way it writes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Change, Event, Shown};

/// Rows by object id.
#[derive(Debug, Default)]
pub struct Table(BTreeMap<String, Row>);

/// One row: the event written last, and the running total of facts.
#[derive(Debug)]
pub struct Row {
    /// The event the row was written from.
    pub event: Arc<Event>,
    total: i64,
}

impl Table {
    /// The row of an object, if there is one.
    pub fn get(&self, object: &str) -> Option<&Row> {
        self.0.get(object)
    }

    /// Writes an event's payload over the row; a fact adds to the row's total.
    pub fn write(&mut self, event: &Arc<Event>) -> Vec<Shown> {
        let (view, total) = match &event.change {
            Change::Snapshot(view) => (Some(view.clone()), 0),
            Change::Gone => (None, 0),
            Change::Adds(amount) => {
                let before = self.0.get(&event.object).map_or(0, |row| row.total);
                let total = before.saturating_add(*amount);
                (Some(Arc::new(BTreeMap::from([("total".to_owned(), total.into())]))), total)
            }
        };
        // A deleted row is remembered with its event: the comparing strategies keep what they compared with.
        self.0.insert(event.object.clone(), Row { event: event.clone(), total });
        vec![Shown { object: event.object.clone(), view, from: Some(event.clone()) }]
    }

    /// Deletes the row, as a handler does that finds the object gone.
    pub fn delete(&mut self, object: &str) -> Vec<Shown> {
        self.0.remove(object);
        vec![Shown { object: object.to_owned(), view: None, from: None }]
    }
}
