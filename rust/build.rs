//! Compiles `vendor/sqlite-vector` against the header of the SQLite that the crate links.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::{env, path::PathBuf};

fn main() {
    let src = PathBuf::from("vendor/sqlite-vector/src");
    let sqlite = env::var("DEP_SQLITE3_INCLUDE").expect("libsqlite3-sys must be a direct dependency with `bundled`");
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let msvc = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|e| e == "msvc");

    let base = || {
        let mut build = cc::Build::new();
        build
            .include(&sqlite)
            .include(&src)
            .define("SQLITE_CORE", None)
            .opt_level(3)
            .warnings(true)
            .extra_warnings(true);
        build.flag_if_supported("-std=c11");
        build
    };
    // One file per instruction set, and its flags are given to that file alone: everything else
    // runs on the architecture's baseline, and the table is chosen at run time.
    let mut special: Vec<(&str, Vec<&str>)> = Vec::new();
    if arch == "x86_64" {
        let avx2 = if msvc { vec!["/arch:AVX2"] } else { vec!["-mavx2", "-mfma", "-mf16c"] };
        let avx512 = if msvc {
            vec!["/arch:AVX512"]
        } else {
            vec![
                "-mavx512f",
                "-mavx512bw",
                "-mavx512dq",
                "-mavx512vl",
                "-mavx512vnni",
                "-mavx512vbmi",
                "-mavx512vpopcntdq",
                "-mfma",
                "-mf16c",
            ]
        };
        special.push(("bsv_kernels_avx2.c", avx2));
        special.push(("bsv_kernels_avx512.c", avx512));
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(&src)
        .expect("vendor/sqlite-vector/src exists")
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    files.sort();
    let mut common = base();
    for file in &files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        match special.iter().find(|(special, _)| *special == name) {
            Some((_, flags)) => {
                let mut build = base();
                for flag in flags {
                    build.flag(flag);
                }
                build.file(file).compile(&name.replace(".c", ""));
            }
            None => {
                common.file(file);
            }
        }
    }
    common.compile("sqlite_vector");
    println!("cargo:rerun-if-changed=vendor/sqlite-vector/src");
    println!("cargo:rerun-if-changed=rust/build.rs");
}
