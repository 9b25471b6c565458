//! The background thread: receives, applies, retries, and tells the screen that something changed.
