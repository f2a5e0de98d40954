//! Where to cut a section that is too long for one chunk.
//!
//! The text falls into units: lines, and where lines are long, parts of sentences. Every unit knows how good a place
//! its beginning is for a cut. Pieces are then filled with units to an even share of the whole.

use std::ops::Range;

use memchr::{memchr, memchr2};
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use super::{
    Limit,
    sections::{Fence, Section, outdented},
};
use crate::{
    measure::Measure,
    script::{is_unspaced, is_word_char},
};

/// How good a place for a cut is, best last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Boundary {
    Grapheme,
    Word,
    Sentence,
    Line,
    Paragraph,
    Heading,
}

/// A stretch of text that is not cut.
#[derive(Debug)]
struct Unit {
    start: usize,
    end: usize,
    measure: Measure,
    /// What lies between this unit and the one before.
    boundary: Boundary,
}

/// Units hold at most this many words, so that an overlap can begin close to where it should.
const UNIT_WORDS: usize = 20;
/// A long word is cut after this many graphemes; the parts stay together wherever there is a better place for a cut.
const ATOM_GRAPHEMES: usize = 16;
/// Words of up to this many bytes are not cut.
const ATOM_BYTES: usize = 40;
/// Lines up to this length are measured as a whole first; longer ones are rarely small enough to stay whole.
const SHORT_LINE_BYTES: usize = 80;
/// A word that is cut can have this many pieces more than its parts together.
const CUT_TOKENS: usize = 2;
/// How far from its even share, as a factor, a piece may end to reach a better boundary.
const SLACK: f64 = 0.3;

/// Cuts sections, which must be neighbours, into pieces within `limit`; each piece but the first begins up to `overlap`
/// words before the end of the one before it, unless a heading stands between them.
///
/// `total` is the measure of all of them. Pieces are appended to `pieces` with their measures. One grapheme cluster that
/// is larger than the limit stays whole. Holds about one piece's units at a time, however long the sections are.
pub(super) fn pack(
    text: &str,
    sections: &[Section],
    total: Measure,
    limit: Limit,
    overlap: usize,
    pieces: &mut Vec<(Range<usize>, Measure)>,
) {
    let mut source = Source::new(text, sections, limit, overlap);
    let mut window = Window::new(total);
    let (mut first, mut done) = (0, 0);
    loop {
        while limit.fits(window.span(first, window.units.len())) && source.read_line(&mut window) {}
        let end = window.units.len();
        if done == end {
            return;
        }
        let mut furthest = done;
        while furthest < end && limit.fits(window.span(first, furthest + 1)) {
            furthest += 1;
        }
        if furthest == done && first < done {
            // The overlap leaves no room for the next unit.
            first = done;
            continue;
        }
        if furthest < end {
            furthest = window.best_end(limit, overlap, (first, done, furthest.max(done + 1)));
        }
        pieces.push((window.units[first].start..window.units[furthest - 1].end, window.span(first, furthest)));
        done = furthest;
        first = window.overlap_start(overlap, (first, done));
        if first * 2 > window.units.len() {
            window.forget(first);
            done -= first;
            first = 0;
        }
    }
}

/// The units that are still needed.
struct Window {
    units: Vec<Unit>,
    /// Measure of everything before each unit, and at last of everything read, from the start of the sections.
    sums: Vec<Measure>,
    /// Measure of all sections.
    total: Measure,
}

impl Window {
    fn new(total: Measure) -> Self {
        Self { units: Vec::new(), sums: vec![Measure::default()], total }
    }

    fn push(&mut self, unit: Unit) {
        self.sums.push(self.sums[self.units.len()] + unit.measure);
        self.units.push(unit);
    }

    /// Makes the last unit longer.
    fn extend_last(&mut self, end: usize, measure: Measure) {
        if let (Some(last), Some(sum)) = (self.units.last_mut(), self.sums.last_mut()) {
            last.end = end;
            last.measure = last.measure + measure;
            *sum = *sum + measure;
        }
    }

    /// Makes one unit of all units from `first` on.
    fn join_from(&mut self, first: usize) {
        if let (Some(end), measure) = (self.units.last().map(|last| last.end), self.span(first, self.units.len())) {
            self.units.truncate(first + 1);
            self.units[first].end = end;
            self.units[first].measure = measure;
            self.sums.truncate(first + 1);
            self.sums.push(self.sums[first] + measure);
        }
    }

    fn forget(&mut self, first: usize) {
        self.units.drain(..first);
        self.sums.drain(..first);
    }

    fn span(&self, first: usize, end: usize) -> Measure {
        self.sums[end] - self.sums[first]
    }

    /// The best place to end a piece that begins at unit `first`: after `done`, at `furthest` at the latest, at the best
    /// boundary near an even share of what is left.
    fn best_end(&self, limit: Limit, overlap: usize, (first, done, furthest): (usize, usize, usize)) -> usize {
        let shared = overlap as f64 / limit.most.words as f64;
        let left = limit.share(self.total - self.sums[first]);
        let count = ((left - shared) / (1.0 - shared)).ceil().max(2.0);
        let target = (left + (count - 1.0) * shared) / count;
        let mut best = None;
        for end in (done + 1..=furthest).rev() {
            let share = limit.share(self.span(first, end));
            if share < target * (1.0 - SLACK) {
                break;
            }
            if share > target * (1.0 + SLACK) {
                continue;
            }
            let rank = (self.units[end].boundary, -(share - target).abs());
            if best.is_none_or(|(_, old)| rank > old) {
                best = Some((end, rank));
            }
        }
        best.map_or(furthest, |(end, _)| end)
    }

    /// Where the next piece begins: at the best boundary among those that repeat between half of `overlap` words and
    /// all, at the furthest one when they are alike.
    fn overlap_start(&self, overlap: usize, (first, end): (usize, usize)) -> usize {
        if self.units.get(end).is_none_or(|next| next.boundary == Boundary::Heading) {
            return end;
        }
        let mut best = (end, None);
        for start in (first + 1..end).rev() {
            let words = self.span(start, end).words;
            if words > overlap {
                break;
            }
            let boundary = Some(self.units[start].boundary);
            if words * 2 >= overlap && boundary >= best.1 {
                best = (start, boundary);
            }
        }
        best.0
    }
}

/// Reads the sections line by line.
struct Source<'a> {
    text: &'a str,
    sections: &'a [Section],
    /// What a unit may hold.
    small: Limit,
    at: usize,
    boundary: Boundary,
    fence: Option<Fence>,
}

impl<'a> Source<'a> {
    fn new(text: &'a str, sections: &'a [Section], limit: Limit, overlap: usize) -> Self {
        let most = limit.most;
        let small = Limit::new(Measure {
            words: (overlap / 2).clamp(4, UNIT_WORDS).min(most.words),
            tokens: if most.tokens == usize::MAX { usize::MAX } else { (most.tokens / 8).max(1) },
            chars: (most.chars / 8).max(1),
        });
        let at = sections.first().map_or(0, |section| section.start);
        Self { text, sections, small, at, boundary: Boundary::Paragraph, fence: None }
    }

    /// Adds the next line's units; false when there is none.
    fn read_line(&mut self, window: &mut Window) -> bool {
        let Some(section) = self.sections.first() else { return false };
        if self.at >= section.end {
            self.sections = &self.sections[1..];
            return !self.sections.is_empty();
        }
        if self.at == section.start {
            self.boundary = if section.level > 0 { Boundary::Heading } else { Boundary::Paragraph };
            self.fence = None;
        }
        let start = self.at;
        self.at =
            memchr(b'\n', &self.text.as_bytes()[start..section.end]).map_or(section.end, |offset| start + offset + 1);
        let line = &self.text[start..self.at];
        let blank = line.trim().is_empty();
        let short = line.len() <= SHORT_LINE_BYTES;
        let length = if short { self.small.measure(line) } else { Measure::default() };
        if short && self.small.fits(length) {
            match window.units.last() {
                Some(last) if blank && last.measure.chars < self.small.most.chars => {
                    window.extend_last(self.at, length);
                }
                _ => window.push(Unit { start, end: self.at, measure: length, boundary: self.boundary }),
            }
        } else {
            let first = window.units.len();
            split_line(self.text, start..self.at, self.boundary, self.small, window);
            if self.small.fits(window.span(first, window.units.len())) {
                window.join_from(first);
            }
        }
        self.boundary = self.boundary_after(line, blank);
        true
    }

    /// What lies between this line and the next; keeps track of fences, inside of which blank lines mean nothing.
    fn boundary_after(&mut self, line: &str, blank: bool) -> Boundary {
        let code = self.fence.is_some();
        self.fence = match self.fence.take() {
            Some(open) if open.is_closed_by(line.trim_end_matches(['\n', '\r'])) => None,
            None => outdented(line.trim_end()).and_then(Fence::open),
            open => open,
        };
        let closed = code && self.fence.is_none();
        if (blank && !code) || closed { Boundary::Paragraph } else { Boundary::Line }
    }
}

/// Cuts a long line into units at sentences, words, and inside words without blanks at graphemes.
fn split_line(text: &str, range: Range<usize>, boundary: Boundary, small: Limit, window: &mut Window) {
    let mut unit = Unit { start: range.start, end: range.start, measure: Measure::default(), boundary };
    let mut add = |start: usize, end: usize, boundary: Boundary| {
        let mut length = small.measure(&text[start..end]);
        if boundary == Boundary::Grapheme && is_inside_word(text, start) {
            length.tokens += CUT_TOKENS;
        }
        let full = !small.fits(unit.measure + length);
        if unit.end > unit.start && (full || boundary == Boundary::Sentence) {
            let next = Unit { start, end, measure: length, boundary };
            window.push(std::mem::replace(&mut unit, next));
        } else {
            unit.end = end;
            unit.measure = unit.measure + length;
        }
    };
    let (mut start, mut boundary) = (range.start, boundary);
    while start < range.end {
        let atom = start..next_atom(text, start, range.end);
        let part = &text[atom.clone()];
        if part.len() <= ATOM_BYTES && (part.is_ascii() || !part.chars().any(is_unspaced)) {
            add(atom.start, atom.end, boundary);
        } else {
            split_atom(text, atom.clone(), boundary, &mut add);
        }
        boundary = if ends_sentence(part) { Boundary::Sentence } else { Boundary::Word };
        start = atom.end;
    }
    window.push(unit);
}

/// Where the word after the one at `start` begins, at `end` at the latest.
///
/// Sees ASCII blanks only, and only before a character that surely begins a grapheme cluster; whatever it misses makes
/// the atom longer, and [`split_atom`] looks closer.
fn next_atom(text: &str, start: usize, end: usize) -> usize {
    let bytes = &text.as_bytes()[..end];
    let mut at = start;
    while let Some(offset) = memchr2(b' ', b'\t', &bytes[at..]) {
        at += offset + 1;
        match bytes.get(at) {
            Some(byte) if byte.is_ascii_graphic() => return at,
            Some(128..) => {
                let next = text[at..].chars().next();
                if next.is_some_and(|c| c.is_alphanumeric() && !is_combining_mark(c) && !is_unspaced(c)) {
                    return at;
                }
            }
            _ => (),
        }
    }
    end
}

/// Cuts a long word, or a run without ASCII blanks, and hands the parts to `add`.
fn split_atom(text: &str, range: Range<usize>, boundary: Boundary, add: &mut impl FnMut(usize, usize, Boundary)) {
    let part = &text[range.clone()];
    let mut start = (range.start, boundary);
    let mut cut = |at: usize, boundary: Boundary| {
        add(start.0, at, start.1);
        start = (at, boundary);
    };
    if part.is_ascii() {
        // Before punctuation where there is some: addresses and paths. The last byte is never alone: it may be the line
        // feed after a carriage return.
        let mut last = range.start;
        for at in range.start + 1..range.end.saturating_sub(1) {
            let length = at - last;
            if length >= 2 * ATOM_GRAPHEMES || (length >= ATOM_GRAPHEMES && !is_inside_word(text, at)) {
                cut(at, Boundary::Grapheme);
                last = at;
            }
        }
    } else {
        let mut graphemes = 0;
        let mut before = Before::default();
        for (offset, grapheme) in part.grapheme_indices(true) {
            let c = grapheme.chars().next().unwrap_or(' ');
            let natural = if offset == 0 { None } else { before.boundary_to(c) };
            if let Some(boundary) = natural.or((graphemes >= ATOM_GRAPHEMES).then_some(Boundary::Grapheme)) {
                cut(range.start + offset, boundary);
                graphemes = 0;
            }
            graphemes += 1;
            before.advance(c);
        }
    }
    add(start.0, range.end, start.1);
}

/// Whether ASCII letters or digits stand on both sides of a byte.
fn is_inside_word(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    bytes[at].is_ascii_alphanumeric() && bytes[at - 1].is_ascii_alphanumeric()
}

/// Whether a word with the blanks after it ends a sentence.
fn ends_sentence(atom: &str) -> bool {
    atom.trim_end().trim_end_matches(is_closing).ends_with(is_terminator)
}

/// What was read of a run, as far as it decides whether the next character begins something.
#[derive(Default)]
struct Before {
    blank: bool,
    /// A character of a script without blanks.
    unspaced: bool,
    /// The sentence ended, and only closing marks and blanks came since.
    sentence_end: bool,
    /// It ended with a mark after which no blank is written.
    wide_end: bool,
}

impl Before {
    /// What lies before `c`, or `None` when it goes on with what came before.
    fn boundary_to(&self, c: char) -> Option<Boundary> {
        let word = is_word_char(c);
        if c.is_whitespace() {
            None
        } else if self.sentence_end && (self.blank || (self.wide_end && !is_closing(c))) {
            Some(Boundary::Sentence)
        } else if self.blank || (self.unspaced && word) || (is_unspaced(c) && !self.unspaced) {
            Some(Boundary::Word)
        } else {
            None
        }
    }

    fn advance(&mut self, c: char) {
        self.blank = c.is_whitespace();
        self.unspaced = is_unspaced(c);
        if is_terminator(c) {
            self.sentence_end = true;
            self.wide_end |= is_wide_terminator(c);
        } else if !self.blank && !is_closing(c) {
            self.sentence_end = false;
            self.wide_end = false;
        }
    }
}

fn is_terminator(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '؟' | '۔' | '।' | '॥' | '։') || is_wide_terminator(c)
}

/// Ends of sentences after which no blank is written.
fn is_wide_terminator(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '．' | '｡')
}

/// Marks that may stand between the end of a sentence and the blank after it.
fn is_closing(c: char) -> bool {
    matches!(c, ')' | ']' | '}' | '"' | '\'' | '*' | '_' | '”' | '’' | '»' | '」' | '』' | '）' | '】' | '》' | '〉')
}
