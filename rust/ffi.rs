//! The only room that calls C. Everything `unsafe` lives here, each use with the reason why it is sound.

pub mod read_only_vfs;
