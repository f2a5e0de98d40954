//! The words of a text as the index knows them: the tokenizer behind the FTS5 tables, as a pure function over `&str`.
//!
//! - A word is a run of letters, digits and marks, folded ([`fold`]); it is always stored whole.
//! - Identifiers ([`segment`]): `foo-bar_baz.rs` is three words, and beside the first one stands the whole without its
//!   joiners, so that `foobar`, `foo_bar`, `foo-bar` and `fooBar` find each other. `HTTPServer2` is one word, beside it
//!   stand its parts.
//! - Scripts without blanks ([`grams`]): overlapping n-grams.
//! - An emoji or a flag is a word.
//!
//! Forms of a word (stems, endings) are not stored: they are found in the index's vocabulary when a query is asked. The
//! code that SQLite calls is in `ffi`.

mod fold;
mod grams;
mod segment;

use std::ops::ControlFlow;

use segment::Segment;

/// What the tokens are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// To be stored.
    Document,
    /// To be looked for. Differs in runs of scripts without blanks, whose ends are stored as shorter grams.
    Query,
}

/// One token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The folded word, at most [`MAX_TOKEN_BYTES`] long and not empty.
    pub text: &'a str,
    /// Where it begins in the text, in bytes.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// Stands at the position of the token before it: the whole of an identifier, a part of a word. In a query these are
    /// other ways to find the word, wider ones; FTS5 must not be given them there, since it would take any of them.
    pub colocated: bool,
    /// Only in queries: the token is the beginning of stored ones (a run that is shorter than the n-grams).
    pub prefix: bool,
}

/// Longer words are cut, in documents and in queries alike.
pub const MAX_TOKEN_BYTES: usize = 64;

/// A query text that begins with this character is one token, taken as it stands: for terms that come from the index.
pub const EXACT: char = '\u{1}';

/// Calls `emit` with every token of `text`, in order of their positions.
pub fn tokenize(text: &str, mode: Mode, mut emit: impl FnMut(Token<'_>)) {
    let _ = try_tokenize::<()>(text, mode, |token| {
        emit(token);
        ControlFlow::Continue(())
    });
}

/// As [`tokenize`], until `emit` breaks; what it breaks with is handed on.
pub fn try_tokenize<B>(text: &str, mode: Mode, mut emit: impl FnMut(Token<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
    if let (Mode::Query, Some(exact)) = (mode, text.strip_prefix(EXACT)) {
        let (start, end) = (EXACT.len_utf8(), text.len());
        return match exact {
            "" => ControlFlow::Continue(()),
            _ => emit(Token { text: exact, start, end, colocated: false, prefix: false }),
        };
    }
    let bytes = text.as_bytes();
    let mut segment = Segment::default();
    let mut lower = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let first = CLASS[bytes[at] as usize];
        if first & (WORD | BEYOND_ASCII) == 0 {
            at += 1;
            continue;
        }
        let start = at;
        let mut rest = 0;
        while let Some(byte) = bytes.get(at) {
            let class = CLASS[*byte as usize];
            if class & WORD == 0 {
                break;
            }
            rest |= if at == start { 0 } else { class };
            at += 1;
        }
        // Nearly every word of nearly every text: one case (or a capital first) and nothing attached to it.
        let plain = rest & !first == 0 || (first == UPPER && rest == LOWER);
        if plain && at - start <= MAX_TOKEN_BYTES && stands_alone(bytes, at) {
            let word = &text[start..at];
            let text = if first == UPPER {
                lower.clear();
                lower.push_str(word);
                lower.make_ascii_lowercase();
                lower.as_str()
            } else {
                word
            };
            emit(Token { text, start, end: at, colocated: false, prefix: false })?;
        } else {
            at = segment.read(text, start, mode, &mut emit)?;
        }
    }
    ControlFlow::Continue(())
}

/// Whether the ASCII word that ends at `at` is surely not part of something longer.
fn stands_alone(bytes: &[u8], at: usize) -> bool {
    let class = |at: usize| bytes.get(at).map_or(0, |byte| CLASS[*byte as usize]);
    match class(at) {
        0 => true,
        JOINS => class(at + 1) & (WORD | BEYOND_ASCII) == 0 && !matches!(bytes[at], b'+' | b'#'),
        _ => false,
    }
}

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const WORD: u8 = LOWER | UPPER | DIGIT;
/// May tie a word to what follows it.
const JOINS: u8 = 8;
const BEYOND_ASCII: u8 = 16;

static CLASS: [u8; 256] = {
    let mut table = [BEYOND_ASCII; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'-' | b'_' | b'.' | b',' | b'\'' | b'+' | b'#' => JOINS,
            _ => 0,
        };
        byte += 1;
    }
    table
};
