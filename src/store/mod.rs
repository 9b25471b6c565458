//! SQLite, and nothing but SQLite, lives here: the writer, the readers, and the shapes that screens read.

pub mod act;
pub mod alerts;
mod book;
mod cache;
mod counters;
pub mod error;
pub mod findings;
pub mod forwards;
mod legs;
pub mod lock;
pub mod marks;
pub mod read;
pub mod schema;
pub mod side;
pub mod transfers;
pub mod verify;
pub mod view;
pub mod writer;
