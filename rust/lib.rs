//! bearsearch's engine: sources, text, SQLite, ranks and numbers.
//!
//! No embedding model, no terminal and no protocol: those live in the Python package, which reaches this crate through
//! `bindings` (feature `python`). Data flows one way: service, engine, C.

pub mod bm25;
mod carve;
pub mod chunk;
pub mod confidence;
mod counts;
pub mod despite;
pub mod documents;
pub mod embeddings;
pub mod error;
mod ffi;
mod folder_lock;
pub mod forms;
mod fulltext;
pub mod fusion;
mod left_out;
pub mod lexical;
pub mod lexicon;
pub mod library;
pub mod links;
pub mod map;
pub mod measure;
pub mod names;
pub mod page_sum;
mod private;
pub mod query;
pub mod recover;
pub mod registry;
mod said;
pub mod schema;
pub mod scope;
mod script;
pub mod search;
pub mod snippet;
pub mod source;
pub mod store;
pub mod sync;
pub mod tokenizer;
pub mod typo;
pub mod vector;
pub mod wordpiece;

#[cfg(feature = "python")]
mod bindings;

pub use error::{Error, Result};
