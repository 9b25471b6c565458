//! What the integration tests share.

pub mod bodies;
pub mod daemon;
pub mod http;
pub mod program;
pub mod side_bench;
pub mod small_socket;
pub mod small_stripe;

/// A folder that goes away, in memory where the system offers that: for tests that are about content, not about disks.
pub fn memory_dir() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Processes one of whose arguments is exactly this.
pub fn processes_with_argument(argument: &str) -> Vec<i32> {
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|e| e.unwrap().file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).split('\0').any(|arg| arg == argument)
    })
    .collect()
}
