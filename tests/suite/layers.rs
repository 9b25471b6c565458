//! Arrows point one way: every `use crate::…` of every source file is held to the architecture.

use std::fs;
use std::path::{Path, PathBuf};

/// Each folder and what it may import beside itself.
const MAY_IMPORT: [(&str, &[&str]); 8] = [
    ("domain", &[]),
    ("store", &["domain"]),
    ("stripe", &["domain"]),
    ("daemon", &["domain", "store", "stripe"]),
    ("guard", &["domain", "store", "stripe"]),
    ("lab", &["domain", "store", "stripe"]),
    ("tui", &["domain", "store", "stripe", "daemon", "guard", "lab"]),
    ("cli", &["domain", "store", "stripe", "daemon", "guard", "lab", "tui"]),
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_import_points_upwards_and_the_domain_is_pure() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (layer, allowed) in MAY_IMPORT {
        let mut files = Vec::new();
        sources(&src.join(layer), &mut files);
        assert!(!files.is_empty(), "{layer} has files");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            for (other, _) in MAY_IMPORT {
                if other != layer && !allowed.contains(&other) && text.contains(&format!("crate::{other}")) {
                    wrong.push(format!("{} imports {other}", file.display()));
                }
            }
            if layer == "domain" {
                for impure in ["std::fs", "std::net", "std::time", "std::env", "tokio", "rusqlite", "chrono::Utc::now"]
                {
                    if text.contains(impure) {
                        wrong.push(format!("{} uses {impure}", file.display()));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_stay_small_and_say_what_lives_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    sources(&root.join("tests"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().count();
        assert!(lines <= 400, "{} has {lines} lines", file.display());
        assert!(text.starts_with("//!"), "{} does not say what lives there", file.display());
    }
}
