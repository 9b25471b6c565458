//! SQLite, and nothing but SQLite, lives here: the writer, the readers, and the shapes that screens read.

pub mod view;
