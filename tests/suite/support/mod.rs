//! What the integration tests share.

pub mod daemon;
pub mod http;
pub mod side_bench;
pub mod small_socket;
pub mod small_stripe;

/// A folder that goes away, in memory where the system offers that: for tests that are about content, not about disks.
pub fn memory_dir() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}
