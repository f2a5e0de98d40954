//! Words with anything unusual about them: identifiers, numbers with separators, every script but ASCII.

use std::ops::{ControlFlow, Range};

use super::{
    MAX_TOKEN_BYTES, Mode, Token,
    fold::{Kind, fold, is_regional_indicator},
    grams::Grams,
};

/// More words than these in a row are no identifier: the whole is not stored.
const MAX_JOINED_WORDS: usize = 8;
/// After this many words a segment is taken to end, so that memory stays small.
const MAX_WORDS: usize = 64;
/// A word with more changes between letters and digits is a code (a hash, a key), whose parts mean nothing.
const MAX_DIGIT_CHANGES: usize = 2;
const MAX_PARTS: usize = 8;

/// Words that are joined to each other, with the memory to collect them.
#[derive(Default)]
pub(super) struct Segment {
    /// The folded words, one after the other.
    folded: String,
    words: Vec<Word>,
    /// Where the words' parts begin: in `folded` and in the text.
    splits: Vec<(usize, usize)>,
    joined: String,
    grams: Grams,
}

/// One word of a segment.
struct Word {
    text: Range<usize>,
    folded: Range<usize>,
    /// Which of the splits are inside it.
    splits: Range<usize>,
    /// What joins it to the next word.
    joiner: Option<char>,
}

impl Segment {
    /// Reads whatever begins at `start`, emits its tokens, and returns where it ends (always after `start`).
    pub(super) fn read<B>(
        &mut self,
        text: &str,
        start: usize,
        mode: Mode,
        emit: &mut impl FnMut(Token<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B, usize> {
        let Some(first) = text[start..].chars().next() else { return ControlFlow::Continue(start + 1) };
        match fold(first).0 {
            Kind::Lower | Kind::Upper | Kind::Digit => {
                let end = self.collect(text, start);
                self.emit(text, end, emit)?;
                ControlFlow::Continue(end)
            }
            kind @ (Kind::Ideographic | Kind::Alphabetic) => self.grams.read(text, start, kind, mode, emit),
            Kind::Emoji => self.read_emoji(text, start, emit),
            Kind::Separator | Kind::Joiner | Kind::Mark | Kind::Ignored => {
                ControlFlow::Continue(start + first.len_utf8())
            }
        }
    }

    /// Collects the words that are joined to the one at `start`; returns the end of the last.
    fn collect(&mut self, text: &str, start: usize) -> usize {
        self.folded.clear();
        self.words.clear();
        self.splits.clear();
        let mut at = start;
        loop {
            at = self.collect_word(text, at);
            if self.words.len() == MAX_WORDS {
                return at;
            }
            let Some((joiner, next)) = joined_word(text, at, &self.words) else { return at };
            if let Some(word) = self.words.last_mut() {
                word.joiner = Some(joiner);
            }
            at = next;
        }
    }

    fn collect_word(&mut self, text: &str, start: usize) -> usize {
        let (folded_start, splits_start) = (self.folded.len(), self.splits.len());
        let (mut end, mut digit_changes) = (start, 0);
        // The last letter or digit and the one before it, and where the last one began.
        let (mut last, mut second_last, mut last_at) = (None, None, (folded_start, start));
        for (offset, c) in text[start..].char_indices() {
            let (kind, folded) = fold(c);
            let here = (self.folded.len(), start + offset);
            match kind {
                Kind::Ignored => (),
                Kind::Mark => self.push(folded_start, folded),
                Kind::Lower | Kind::Upper | Kind::Digit => {
                    match (second_last, last, kind) {
                        (_, Some(Kind::Lower), Kind::Upper) => self.splits.push(here),
                        (Some(Kind::Upper), Some(Kind::Upper), Kind::Lower) => self.splits.push(last_at),
                        (_, Some(Kind::Digit), Kind::Lower | Kind::Upper)
                        | (_, Some(Kind::Lower | Kind::Upper), Kind::Digit) => {
                            digit_changes += 1;
                            self.splits.push(here);
                        }
                        _ => (),
                    }
                    (second_last, last, last_at) = (last, Some(kind), here);
                    self.push(folded_start, folded);
                }
                _ => break,
            }
            end = start + offset + c.len_utf8();
            if self.splits.len() - splits_start > MAX_PARTS {
                // Far too many; where they are does not matter any more.
                self.splits.truncate(splits_start + MAX_PARTS);
                digit_changes = MAX_DIGIT_CHANGES + 1;
            }
        }
        let cut = self.folded.len() - folded_start >= MAX_TOKEN_BYTES;
        if cut || digit_changes > MAX_DIGIT_CHANGES {
            self.splits.truncate(splits_start);
        }
        let article = article(&self.folded[folded_start..]);
        self.words.push(Word {
            text: start..end,
            folded: folded_start + article..self.folded.len(),
            splits: splits_start..self.splits.len(),
            joiner: None,
        });
        end
    }

    /// Adds to the word that began at `start`, as far as a token may be long.
    fn push(&mut self, start: usize, folded: &str) {
        if self.folded.len() - start + folded.len() <= MAX_TOKEN_BYTES {
            self.folded.push_str(folded);
        }
    }

    fn emit<B>(
        &mut self,
        text: &str,
        end: usize,
        emit: &mut impl FnMut(Token<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        self.join();
        let start = self.words.first().map_or(end, |word| word.text.start);
        for (index, word) in self.words.iter().enumerate() {
            let mut give = |text: &str, range: Range<usize>, colocated: bool| match text {
                "" => ControlFlow::Continue(()),
                _ => emit(Token { text, start: range.start, end: range.end, colocated, prefix: false }),
            };
            give(&self.folded[word.folded.clone()], word.text.clone(), false)?;
            if index == 0 {
                give(&self.joined, start..end, true)?;
            }
            if let (true, Some(sign)) = (index + 1 == self.words.len(), sign_after(text, &word.text)) {
                self.joined.clear();
                self.joined.push_str(&self.folded[word.folded.clone()]);
                self.joined.push_str(sign);
                give(&self.joined, word.text.start..word.text.end + sign.len(), true)?;
            }
            let splits = &self.splits[word.splits.clone()];
            let first = (word.folded.start, word.text.start);
            let last = (word.folded.end, word.text.end);
            let bounds = || std::iter::once(first).chain(splits.iter().copied());
            for (from, to) in bounds().zip(bounds().skip(1).chain([last])).filter(|_| !splits.is_empty()) {
                let part = &self.folded[from.0..to.0];
                // A single letter says nothing; a single digit may be a version.
                if part.len() > 1 || part.bytes().all(|byte| byte.is_ascii_digit()) {
                    give(part, from.1..to.1, true)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Makes `joined` the whole of the segment, or empty when that is no token: the words without what joins them, but
    /// between two digits a point or hyphen stays (1.5 is not 15), and other separators go (1,500 is 1500).
    fn join(&mut self) {
        self.joined.clear();
        if !(2..=MAX_JOINED_WORDS).contains(&self.words.len()) {
            return;
        }
        for (index, word) in self.words.iter().enumerate() {
            let folded = &self.folded[word.folded.clone()];
            let before = index.checked_sub(1).and_then(|before| self.words[before].joiner);
            let digits = self.joined.ends_with(is_ascii_digit) && folded.starts_with(is_ascii_digit);
            if let (true, Some(joiner @ ('.' | '-'))) = (digits, before) {
                self.joined.push(joiner);
            }
            self.joined.push_str(folded);
        }
        if self.joined.len() > MAX_TOKEN_BYTES {
            self.joined.clear();
        }
    }

    /// Reads one emoji with whatever is joined to it, or one flag.
    fn read_emoji<B>(
        &mut self,
        text: &str,
        start: usize,
        emit: &mut impl FnMut(Token<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B, usize> {
        self.folded.clear();
        let (mut end, mut joined, mut flag) = (start, true, false);
        for (offset, c) in text[start..].char_indices() {
            match fold(c).0 {
                Kind::Emoji if is_regional_indicator(c) && (flag || joined) => {
                    joined = false;
                    flag = !flag;
                    self.push(0, fold(c).1);
                }
                Kind::Emoji if joined && !flag => {
                    joined = false;
                    self.push(0, fold(c).1);
                }
                Kind::Ignored if end > start => joined |= c == '\u{200D}',
                _ => break,
            }
            end = start + offset + c.len_utf8();
        }
        emit(Token { text: &self.folded, start, end, colocated: false, prefix: false })?;
        ControlFlow::Continue(end)
    }
}

fn is_ascii_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// The joiner at `at` and where the word behind it begins, when there is one that belongs to the words before.
fn joined_word(text: &str, at: usize, words: &[Word]) -> Option<(char, usize)> {
    let rest = &text[at..];
    let joiner = rest.chars().next()?;
    let next = at + joiner.len_utf8();
    let begins_word = |at: usize| {
        text[at..].chars().next().is_some_and(|c| matches!(fold(c).0, Kind::Lower | Kind::Upper | Kind::Digit))
    };
    match joiner {
        ',' | '\'' | '’' => {
            // Thousands: up to three digits before, exactly three behind.
            let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
            let before = &text[words.last()?.text.clone()];
            let grouped = digits(before) == before.len() && before.len() <= 3 && digits(&text[next..]) == 3;
            grouped.then_some((joiner, next))
        }
        _ if fold(joiner).0 == Kind::Joiner && begins_word(next) => Some((joiner, next)),
        _ => None,
    }
}

/// What makes another name of the word before it: `c++`, `c#`.
fn sign_after(text: &str, word: &Range<usize>) -> Option<&'static str> {
    let sign = match &text[word.end..] {
        rest if rest.starts_with("++") => "++",
        rest if rest.starts_with('#') && word.len() == 1 => "#",
        _ => return None,
    };
    let goes_on = |c: char| c == '+' || c == '#' || !matches!(fold(c).0, Kind::Separator | Kind::Joiner);
    let ends = text[word.end + sign.len()..].chars().next().is_none_or(|c| !goes_on(c));
    (ends && word.len() <= 12).then_some(sign)
}

/// Length of the Arabic article at the beginning of a folded word, with what is written together with it; 0 when what
/// is left would be no word.
fn article(word: &str) -> usize {
    const ARTICLES: [&str; 6] = ["وال", "بال", "كال", "فال", "ال", "لل"];
    let mut rest = word;
    while let Some(left) = ARTICLES.iter().find_map(|article| rest.strip_prefix(article)) {
        if left.chars().count() < 3 {
            break;
        }
        rest = left;
    }
    word.len() - rest.len()
}
