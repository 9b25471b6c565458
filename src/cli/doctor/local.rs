//! Checks of this machine: secrets, the key as text, ports, the database's place.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use super::{Check, Subject};
use crate::store::error::StoreError;
use crate::store::{marks, schema};
use crate::stripe::budget::MONTHLY_FLOOR;
use crate::stripe::client::local_http;
use crate::stripe::key::KeyKind;
use crate::stripe::signature::Secret;

/// Room below which writing may soon fail, and below which it is worth a word. Bytes.
const LITTLE: u64 = 100 << 20;
const SOME: u64 = 1 << 30;

pub(super) fn secrets(subject: &Subject) -> Check {
    let mend = "export STRIPE_WEBHOOK_SECRET=$(stripe listen --print-secret), or let --listen take it";
    let broken = subject.secrets.iter().find_map(|s| Secret::new(s).err());
    match (subject.secrets.len(), broken) {
        (0, _) => Check::bad("secret", "none: every delivery is refused", mend),
        (_, Some(why)) => Check::bad("secret", why, mend),
        (1, None) => Check::ok("secret", "one signing secret"),
        (n, None) => Check::ok("secret", format!("{n} signing secrets")),
    }
}

pub(super) fn key(subject: &Subject) -> Vec<Check> {
    let key = match &subject.key {
        Err(why) => return vec![Check::bad("key", why.clone(), "export STRIPE_API_KEY=rk_test_…")],
        Ok(None) => {
            let text = "none: no backfill, reconcile, fees or transfers; balances are gross";
            return vec![Check::warn("key", text, "export STRIPE_API_KEY=rk_test_… (a restricted key is enough)")];
        }
        Ok(Some(key)) => key,
    };
    let mode = if subject.live { "live" } else { "test" };
    let mut checks = vec![if key.is_live() != subject.live {
        let text = format!("{} is a {} key, this is {mode} mode", key.shown(), key.mode());
        Check::bad("key", text, format!("give a {mode} key, or --mode {}", key.mode()))
    } else if key.kind() == KeyKind::Secret {
        let text = format!("{}: may do everything", key.shown());
        Check::warn("key", text, "make a restricted key in the Dashboard: it can do less harm")
    } else {
        Check::ok("key", format!("{}: restricted, {mode}", key.shown()))
    }];
    if let Some(path) = &subject.key_file
        && std::fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o077 != 0)
    {
        let path = path.display();
        checks.push(Check::warn("key", format!("others may read {path}"), format!("chmod 600 {path}")));
    }
    checks
}

/// Both loopbacks, since `localhost` may mean either; the given address alone when it is another one.
pub(super) async fn ports(subject: &Subject) -> Vec<Check> {
    let port = subject.addr.port();
    let addresses: Vec<IpAddr> = if subject.addr.ip().is_loopback() {
        vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
    } else {
        vec![subject.addr.ip()]
    };
    let mut checks = Vec::new();
    for ip in addresses {
        checks.push(at_port(SocketAddr::new(ip, port)).await);
    }
    checks
}

async fn at_port(addr: SocketAddr) -> Check {
    let other = "stop the program that holds it (lsof -i tells which), or choose another with --addr";
    match std::net::TcpListener::bind(addr) {
        Ok(_) => Check::ok("port", format!("{addr} is free")),
        Err(e) if e.kind() == ErrorKind::AddrInUse => match is_ours(addr).await {
            true => Check::ok("port", format!("{addr} is answered by a running payout-ledger")),
            false => Check::bad("port", format!("{addr} is taken by another program"), other),
        },
        Err(e) if addr.is_ipv6() => {
            Check::warn("port", format!("{addr}: {e}"), "forward to 127.0.0.1, not to localhost")
        }
        Err(e) => Check::bad("port", format!("{addr}: {e}"), "choose another with --addr"),
    }
}

/// Whether a receiver like ours answers there: health, and a webhook that takes only POST.
async fn is_ours(addr: SocketAddr) -> bool {
    let Ok(http) = local_http(Duration::from_millis(500)) else { return false };
    let status = async |path: &str| http.get(format!("http://{addr}{path}")).send().await.map(|a| a.status().as_u16());
    matches!((status("/healthz").await, status("/webhook").await), (Ok(200), Ok(405)))
}

pub(super) fn database(subject: &Subject) -> Vec<Check> {
    let path = &subject.database;
    let shown = path.display();
    let mut reads = None;
    let mut checks = vec![match path.exists() {
        false => Check::ok("database", format!("{shown} will be made at the first start")),
        true => match schema::open_read_only(path) {
            Ok(conn) => {
                reads = reads_this_month(&conn, subject.live);
                Check::ok("database", format!("{shown}, {}", facts(&conn)))
            }
            Err(e @ StoreError::Newer { .. }) => Check::bad("database", e.to_string(), "upgrade payout-ledger"),
            Err(e @ StoreError::NotOurs { .. }) => {
                Check::bad("database", e.to_string(), "choose another file with --db")
            }
            Err(e) => Check::bad("database", e.to_string(), format!("ls -l {shown}")),
        },
    }];
    checks.extend(reads);
    if let Some(folder) = existing_parent(path) {
        checks.extend(file_system(folder));
        checks.extend(room(folder));
    }
    checks
}

fn facts(conn: &rusqlite::Connection) -> String {
    let number = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap_or(0);
    let (schema, bytes) = (number("PRAGMA user_version"), number("PRAGMA page_count") * number("PRAGMA page_size"));
    let events = number("SELECT coalesce(max(seq), 0) FROM events");
    format!("schema {schema}, {events} events, {} MiB, SQLite {}", bytes >> 20, rusqlite::version())
}

/// How much of Stripe's monthly read allowance is used (Stripe: Rate limits).
fn reads_this_month(conn: &rusqlite::Connection, live: bool) -> Option<Check> {
    let name = format!("{}:reads:{}", if live { "live" } else { "test" }, crate::daemon::this_month());
    let reads: u64 = marks::get(conn, &name).ok()??.parse().ok()?;
    let text = format!("{reads} reads of Stripe's API this month; at least {MONTHLY_FLOOR} are allowed");
    let mend = "leave out --confirm fetch, or reconcile less often";
    Some(if reads > MONTHLY_FLOOR { Check::warn("reads", text, mend) } else { Check::ok("reads", text) })
}

fn existing_parent(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|p| p.exists()).filter(|p| !p.as_os_str().is_empty()).or(Some(Path::new(".")))
}

/// Write-ahead logging needs shared memory between processes, which network file systems do not give (SQLite: WAL).
fn file_system(folder: &Path) -> Option<Check> {
    let kind = u64::try_from(rustix::fs::statfs(folder).ok()?.f_type).ok()? & 0xffff_ffff;
    let name = match kind {
        0x6969 => "NFS",
        0xff53_4d42 | 0xfe53_4d42 | 0x517b => "a Windows share",
        0x0102_1997 => "a shared folder (9p)",
        0x6573_5546 => "a FUSE file system",
        _ => return Some(Check::ok("disk", format!("{} is a local file system", folder.display()))),
    };
    let text = format!("{} is on {name}: the database may be damaged there", folder.display());
    Some(Check::bad("disk", text, "put it on a local disk: --db PATH"))
}

fn room(folder: &Path) -> Option<Check> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let text = format!("{} MiB free", free >> 20);
    Some(match free {
        0..LITTLE => Check::bad("disk", text, "free some space: deliveries are refused on a full disk"),
        LITTLE..SOME => Check::warn("disk", text, "free some space soon"),
        _ => Check::ok("disk", text),
    })
}
