//! Each check's verdict, as far as this machine and no network decide it.

use super::*;

fn subject(dir: &std::path::Path) -> Subject {
    Subject {
        database: dir.join("ledger.db"),
        live: false,
        addr: SocketAddr::from(([127, 0, 0, 1], 0)),
        secrets: vec![SecretString::from("whsec_abc")],
        key_file: None,
        key: ApiKey::parse("rk_test_abcDEF123456").map(Some),
        api_base: "https://api.stripe.com".to_owned(),
    }
}

fn verdicts(checks: &[Check]) -> Vec<Verdict> {
    checks.iter().map(|c| c.verdict).collect()
}

#[test]
fn secrets_and_keys() {
    let dir = tempfile::tempdir().unwrap();
    let mut s = subject(dir.path());
    assert_eq!(local::secrets(&s).verdict, Verdict::Ok);
    assert_eq!(verdicts(&local::key(&s)), [Verdict::Ok]);
    s.secrets.clear();
    assert_eq!(local::secrets(&s).verdict, Verdict::Bad);
    s.live = true;
    assert!(local::key(&s)[0].line().contains("rk_test_… is a test key, this is live mode\n"));
    s.key = ApiKey::parse("sk_live_abcDEF123456").map(Some);
    let file = dir.path().join("key");
    std::fs::write(&file, "x").unwrap();
    s.key_file = Some(file);
    assert_eq!(verdicts(&local::key(&s)), [Verdict::Warn, Verdict::Warn]);
    s.key = Err("no key".to_owned());
    assert_eq!(verdicts(&local::key(&s)), [Verdict::Bad]);
}

#[tokio::test]
async fn a_taken_port_is_bad() {
    let dir = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut s = subject(dir.path());
    s.addr = taken.local_addr().unwrap();
    let checks = local::ports(&s).await;
    assert_eq!((checks.len(), checks[0].verdict), (2, Verdict::Bad));
    assert!(checks[0].line().contains("lsof"));
}

#[test]
fn databases() {
    let dir = tempfile::tempdir().unwrap();
    let s = subject(dir.path());
    let first = |s: &Subject| local::database(s)[0].clone();
    assert!(first(&s).text.contains("will be made"));
    drop(crate::store::schema::open(&s.database).unwrap());
    assert!(first(&s).text.contains("0 events"), "{:?}", first(&s));
    std::fs::write(&s.database, "these are notes and no database at all").unwrap();
    assert_eq!(first(&s).verdict, Verdict::Bad);
}
