//! Scripts that put no blanks between words: overlapping n-grams of their characters.
//!
//! Two characters for Han, kana and Hangul, three for the alphabets (Thai, Lao, Khmer, Myanmar). At the end of a run the
//! grams get shorter, down to the last character alone, so that every character begins a gram: a query of one character
//! is the beginning of a stored gram, and a longer one is its grams side by side.

use std::ops::ControlFlow;

use unicode_normalization::char::compose;

use super::{
    Mode, Token,
    fold::{Kind, fold},
};

/// Characters of a run that are not yet all emitted.
#[derive(Default)]
pub(super) struct Grams {
    folded: String,
    /// For each character with its marks: where it begins and ends in the text, and where it begins in `folded`.
    units: Vec<Unit>,
}

struct Unit {
    start: usize,
    end: usize,
    folded: usize,
}

/// Marks after one character beyond this length are left out of its token.
const MAX_UNIT_BYTES: usize = 20;
/// Characters that are kept before their memory is used again.
const MAX_UNITS: usize = 256;

impl Grams {
    /// Reads the run of `kind` that begins at `start`, emits its tokens, and returns where it ends.
    pub(super) fn read<B>(
        &mut self,
        text: &str,
        start: usize,
        kind: Kind,
        mode: Mode,
        emit: &mut impl FnMut(Token<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B, usize> {
        let n = if kind == Kind::Ideographic { 2 } else { 3 };
        self.folded.clear();
        self.units.clear();
        let mut end = start;
        // The first unit whose gram is not emitted, and how many were emitted in all.
        let (mut next, mut emitted) = (0, 0);
        for (offset, c) in text[start..].char_indices() {
            let at = start + offset;
            match fold(c) {
                (found, folded) if found == kind => {
                    if !self.composes_hangul(c) {
                        // The unit before is complete now.
                        if self.units.len() - next == n {
                            self.emit(next, n, false, emit)?;
                            next += 1;
                            emitted += 1;
                        }
                        self.forget(&mut next);
                        self.units.push(Unit { start: at, end: at, folded: self.folded.len() });
                        self.folded.push_str(folded);
                    }
                }
                (Kind::Mark, folded) => self.push_mark(folded, kind),
                (Kind::Ignored, _) => (),
                _ => break,
            }
            end = at + c.len_utf8();
            if let Some(unit) = self.units.last_mut() {
                unit.end = end;
            }
        }
        while next < self.units.len() {
            let length = self.units.len() - next;
            let short = length < n;
            if mode == Mode::Query && short {
                // Shorter than any gram: the beginning of stored ones. Otherwise the grams before hold these characters.
                if emitted == 0 {
                    self.emit(next, length, true, emit)?;
                }
                break;
            }
            self.emit(next, length.min(n), false, emit)?;
            next += 1;
            emitted += 1;
        }
        ControlFlow::Continue(end)
    }

    fn emit<B>(
        &self,
        first: usize,
        length: usize,
        prefix: bool,
        emit: &mut impl FnMut(Token<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let (from, to) = (&self.units[first], &self.units[first + length - 1]);
        let end = self.units.get(first + length).map_or(self.folded.len(), |unit| unit.folded);
        let text = &self.folded[from.folded..end];
        emit(Token { text, start: from.start, end: to.end, colocated: false, prefix })
    }

    /// Drops the characters that are done with, now and then.
    fn forget(&mut self, next: &mut usize) {
        if *next >= MAX_UNITS {
            let folded = self.units.get(*next).map_or(self.folded.len(), |unit| unit.folded);
            self.folded.drain(..folded);
            self.units.drain(..*next);
            self.units.iter_mut().for_each(|unit| unit.folded -= folded);
            *next = 0;
        }
    }

    /// Adds marks to the last character: composed with it where Unicode has a character for both. Alphabets keep the
    /// others; on an ideograph or kana they would be of no script that has them.
    fn push_mark(&mut self, marks: &str, kind: Kind) {
        for mark in marks.chars() {
            let Some(unit) = self.units.last() else { return };
            let last = self.folded.chars().next_back();
            if let Some((last, composed)) = last.and_then(|last| Some((last, compose(last, mark)?))) {
                self.folded.truncate(self.folded.len() - last.len_utf8());
                self.folded.push(composed);
            } else if kind == Kind::Alphabetic && self.folded.len() - unit.folded + mark.len_utf8() <= MAX_UNIT_BYTES {
                self.folded.push(mark);
            }
        }
    }

    /// Whether `c` is a vowel or final consonant that completes the last Hangul syllable, and if so, completes it.
    fn composes_hangul(&mut self, c: char) -> bool {
        if !matches!(c as u32, 0x1161..=0x1175 | 0x11A8..=0x11C2) {
            return false;
        }
        let Some(last) = self.folded.chars().next_back() else { return false };
        let Some(composed) = compose(last, c) else { return false };
        self.folded.truncate(self.folded.len() - last.len_utf8());
        self.folded.push(composed);
        true
    }
}
