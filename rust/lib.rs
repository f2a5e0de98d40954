//! bearsearch's engine: sources, text, SQLite, ranks and numbers.
//!
//! No embedding model, no terminal and no protocol: those live in the Python package, which reaches this crate through
//! `bindings` (feature `python`). Data flows one way: service, engine, C.

pub mod error;
mod ffi;
pub mod source;

pub use error::{Error, Result};
