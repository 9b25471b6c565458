//! A query put together from the filters that are set. Values are always bound, never written into the text.

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use super::SEARCH_DEPTH;
use crate::store::error::StoreError;

/// A SELECT in the making.
pub(super) struct Query {
    select: &'static str,
    conditions: Vec<String>,
    values: Vec<Value>,
    needles: Vec<(&'static [&'static str], String)>,
}

impl Query {
    /// `select` is everything before WHERE, with each column named as the needles name it.
    pub fn new(select: &'static str) -> Self {
        Self { select, conditions: Vec::new(), values: Vec::new(), needles: Vec::new() }
    }

    /// A condition without values.
    pub fn only(&mut self, condition: impl Into<String>) -> &mut Self {
        self.conditions.push(condition.into());
        self
    }

    /// A condition whose `?`s take these values, in order.
    pub fn with<const N: usize>(&mut self, condition: &str, values: [Value; N]) -> &mut Self {
        self.conditions.push(condition.to_owned());
        self.values.extend(values);
        self
    }

    /// `column = value`, when a value is set.
    pub fn equals(&mut self, column: &str, value: Option<&String>) -> &mut Self {
        if let Some(value) = value {
            self.with(&format!("{column} = ?"), [value.clone().into()]);
        }
        self
    }

    /// Any of the columns contains the text, ignoring ASCII case.
    pub fn contains(&mut self, columns: &'static [&'static str], text: Option<&String>) -> &mut Self {
        if let Some(text) = text.filter(|t| !t.is_empty()) {
            self.needles.push((columns, text.to_ascii_lowercase()));
        }
        self
    }

    /// Runs it.
    pub fn rows<T>(
        self,
        conn: &Connection,
        order: &str,
        limit: usize,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let Self { select, conditions, mut values, needles } = self;
        let mut sql = select.to_owned();
        if !conditions.is_empty() {
            sql.push_str(" WHERE ");
            sql.push_str(&conditions.join(" AND "));
        }
        sql.push_str(&format!(" ORDER BY {order}"));
        if !needles.is_empty() {
            sql = format!("SELECT * FROM ({sql} LIMIT {SEARCH_DEPTH}) WHERE ");
            let each: Vec<String> = needles
                .iter()
                .map(|(columns, needle)| {
                    let any: Vec<String> =
                        columns.iter().map(|c| format!("instr(lower(ifnull({c}, '')), ?) > 0")).collect();
                    values.extend(columns.iter().map(|_| Value::from(needle.clone())));
                    format!("({})", any.join(" OR "))
                })
                .collect();
            sql.push_str(&each.join(" AND "));
        }
        sql.push_str(" LIMIT ?");
        values.push(i64::try_from(limit).unwrap_or(i64::MAX).into());
        let mut statement = conn.prepare_cached(&sql)?;
        Ok(statement.query_map(params_from_iter(values), read)?.collect::<Result<_, _>>()?)
    }
}

/// Comparison and order for walking down or up by key.
pub(super) fn walk(descending: bool) -> (&'static str, &'static str) {
    if descending { ("<", "DESC") } else { (">", "ASC") }
}
