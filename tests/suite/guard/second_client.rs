//! The official SDK (npm `stripe`) pays in the same groups meanwhile. `.ci/run` installs it; without it this is skipped.

use std::path::Path;
use std::process::Command;

use super::{Bench, Near, runtime};

const GROUPS: usize = 24;

/// The SDK's process, or none when it is not installed.
fn sdk(bench: &Bench, groups: usize) -> Option<Command> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sdk = root.join("target/sdk/node_modules/stripe");
    if !sdk.is_dir() {
        eprintln!("SKIPPED: {} is missing; `npm install --prefix target/sdk stripe` brings it", sdk.display());
        return None;
    }
    let port = bench.stripe.base.rsplit(':').next()?;
    let mut command = Command::new("node");
    command.arg(root.join("tests/suite/guard/second_client.cjs")).arg(sdk).args([port, &groups.to_string()]);
    Some(command)
}

#[test]
fn another_client_pays_in_the_same_groups_meanwhile() {
    let bench = Bench::new(51);
    let Some(mut theirs) = sdk(&bench, GROUPS) else { return };
    for n in 0..GROUPS {
        bench.create(&format!("sdk-{n}"));
    }
    let mut theirs = theirs.spawn().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| runtime().block_on(bench.worker(Near::new(&bench.stripe)).drain()).unwrap());
        }
    });
    assert!(theirs.wait().unwrap().success());
    runtime().block_on(bench.settle());
    for n in 0..GROUPS {
        let name = format!("sdk-{n}");
        let state = bench.state(&name);
        assert!(state.is_paid() || state.needs_person(), "{name} is {state}");
        let with_our_key = bench.stripe.made_with(&format!("transfer-{name}-v0"));
        assert!(with_our_key <= 1, "{name} was paid {with_our_key} times with our key");
        // With our key, ours or theirs, it is one transfer; without it theirs may come after ours, and then we made one.
        let keyless = usize::from(n % 3 == 1);
        assert!(bench.stripe.of(&name).len() <= 1 + keyless, "{name}");
    }
}

#[test]
fn what_another_client_paid_before_is_adopted() {
    let bench = Bench::new(52);
    let Some(mut theirs) = sdk(&bench, 6) else { return };
    assert!(theirs.status().unwrap().success());
    let before = bench.stripe.posts();
    for n in 0..6 {
        bench.create(&format!("sdk-{n}"));
    }
    runtime().block_on(bench.settle());
    assert_eq!(bench.stripe.posts() - before, 2, "only what nobody paid is posted");
    for n in 0..6 {
        assert!(bench.state(&format!("sdk-{n}")).is_paid());
        assert_eq!(bench.stripe.of(&format!("sdk-{n}")).len(), 1);
    }
}
