//! Lists page by page, in both directions, each element's bytes kept as they came (Stripe: Pagination).

use serde::Deserialize;
use serde_json::value::RawValue;

use super::client::Client;
use super::error::ApiError;
use crate::domain::owner::Owner;

/// Where a list is entered, and with it which way it is walked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// At the newest object, towards the past (`starting_after`).
    Newest,
    /// After this object, towards the present (`ending_before`); elements come out oldest first.
    After(String),
}

/// Walks one list. A page is whole or an error; after an error [`Walk::next`] asks for the same page again.
#[derive(Debug)]
pub struct Walk<'a> {
    client: &'a Client,
    owner: &'a Owner,
    path: &'a str,
    query: Vec<(&'a str, String)>,
    forward: bool,
    cursor: Option<String>,
    done: bool,
}

#[derive(Deserialize)]
struct Page {
    data: Vec<Box<RawValue>>,
    has_more: bool,
}

#[derive(Deserialize)]
struct Identified {
    id: String,
}

impl Client {
    /// A walk over `path` with Stripe's filters in `query`.
    pub fn walk<'a>(&'a self, owner: &'a Owner, path: &'a str, query: &[(&'a str, &str)], start: Start) -> Walk<'a> {
        let query = query.iter().map(|(k, v)| (*k, (*v).to_owned())).collect();
        let (forward, cursor) = match start {
            Start::Newest => (false, None),
            Start::After(id) => (true, Some(id)),
        };
        Walk { client: self, owner, path, query, forward, cursor, done: false }
    }
}

impl Walk<'_> {
    /// The next page in walking order; `None` once the list has ended.
    pub async fn next(&mut self) -> Result<Option<Vec<Box<RawValue>>>, ApiError> {
        if self.done {
            return Ok(None);
        }
        let mut query: Vec<(&str, &str)> = self.query.iter().map(|(k, v)| (*k, v.as_str())).collect();
        query.push(("limit", "100"));
        if let Some(cursor) = &self.cursor {
            query.push((if self.forward { "ending_before" } else { "starting_after" }, cursor));
        }
        let mut page: Page = self.client.get_as(self.owner, self.path, &query).await?;
        if self.forward {
            page.data.reverse();
        }
        let last = page.data.last().map(|raw| serde_json::from_str::<Identified>(raw.get())).transpose();
        let last = last.map_err(|e| ApiError::unreadable(&e))?;
        // A server that repeats itself would keep us here for ever.
        self.done = !page.has_more || last.as_ref().is_none_or(|l| Some(&l.id) == self.cursor.as_ref());
        self.cursor = last.map(|l| l.id).or_else(|| self.cursor.take());
        Ok(Some(page.data))
    }

    /// The id of the last element handed out: where a later walk goes on.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// Everything that is left, in walking order.
    pub async fn all(mut self) -> Result<Vec<Box<RawValue>>, ApiError> {
        let mut all = Vec::new();
        while let Some(page) = self.next().await? {
            all.extend(page);
        }
        Ok(all)
    }
}
