//! bearsearch's engine: sources, text, SQLite, ranks and numbers.
//!
//! No embedding model, no terminal and no protocol: those live in the Python package, which reaches this crate through
//! `bindings` (feature `python`). Data flows one way: service, engine, C.

pub mod chunk;
pub mod error;
pub mod forms;
pub mod measure;
pub mod script;
pub mod source;
pub mod tokenizer;
pub mod wordpiece;

pub use error::{Error, Result};
