//! Writes `rust/wordpiece.bin` from the `tokenizer.json` of a model with BERT's uncased vocabulary:
//! `cargo run --example wordpiece_table -- path/to/tokenizer.json rust/wordpiece.bin`

use std::{error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths = std::env::args().skip(1);
    let (Some(source), Some(target)) = (paths.next(), paths.next()) else {
        return Err("expected two paths: the tokenizer.json to read and the table to write".into());
    };
    let tokenizer: serde_json::Value = serde_json::from_slice(&fs::read(&source)?)?;
    let vocabulary = tokenizer["model"]["vocab"].as_object().ok_or("no model.vocab object in that file")?;
    let pieces = vocabulary.keys().map(String::as_str).filter(|piece| !piece.starts_with('['));
    let table = bearsearch_core::wordpiece::build_table(pieces).ok_or("that vocabulary is too large for the table")?;
    fs::write(target, table)?;
    Ok(())
}
