//! SQLite, and nothing but SQLite, lives here: the writer, the readers, and the shapes that screens read.

pub mod act;
mod book;
mod cache;
mod counters;
pub mod error;
mod legs;
pub mod schema;
pub mod view;
pub mod writer;
