//! Markdown text -> chunks: stretches of one document that are searched, embedded and shown as one passage.
//!
//! Chunks follow the headings. Sections that are too short join a neighbour, sections that are too long are cut at the
//! best boundary near an even share, and their pieces overlap. What stands where in the Markdown is found in
//! [`sections`], where to cut is decided in [`packing`]; how long a text is, [`measure`](crate::measure) says.
//! Reading sources and storing chunks happen elsewhere.

mod packing;
mod sections;

use std::ops::Range;

use memchr::memchr_iter;
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use crate::measure::{Measure, estimated_tokens, measure, measure_without_tokens};
use sections::Section;

/// How long chunks may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPolicy {
    /// Most words of a chunk, counted as [`Measure::words`]. Values below 16 count as 16.
    pub max_words: usize,
    /// A section with fewer words joins a neighbour. At most half of `max_words`.
    pub min_words: usize,
    /// Words that the pieces of one long section share with the piece before. At most a quarter of `max_words`.
    pub overlap_words: usize,
    /// Most tokens that [`embedded_text`] of a chunk may have for the embedding model, the two special tokens included,
    /// the model's document prefix already taken off. `None` when nothing will be embedded.
    ///
    /// Counted for BERT's uncased vocabulary; for a model with another one, pass a smaller number. Below 160 tokens a
    /// long title or heading can leave too little room, and a chunk may be longer than asked.
    pub max_tokens: Option<usize>,
}

impl Default for ChunkPolicy {
    fn default() -> Self {
        Self { max_words: 300, min_words: 30, overlap_words: 40, max_tokens: None }
    }
}

/// One chunk, by its place in the document's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Position among the document's chunks, from 0.
    pub ordinal: usize,
    /// The headings above the middle of the chunk, outermost first, joined by " > ", without the document's title.
    /// At most 400 bytes; outer headings go first when there are more.
    pub heading: String,
    /// First byte in the text.
    pub start_byte: usize,
    /// One past the last byte.
    pub end_byte: usize,
    /// Line of the first byte. Lines count from 1 and end with `\n`, whether or not a `\r` stands before it.
    pub start_line: usize,
    /// Line of the last byte.
    pub end_line: usize,
    /// How long it is, title and heading path not counted; its tokens are 0 when the policy does not limit them.
    pub measure: Measure,
}

/// Characters per word of `max_words`: bounds runs of symbols and of blanks, which have no words. Prose has 6, code 10.
const CHARS_PER_WORD: usize = 16;
/// Most tokens of the title, and most of the heading path, in [`embedded_text`].
const MAX_LABEL_TOKENS: usize = 40;
/// Most bytes of a stored heading path, and of a title before its tokens are counted.
const MAX_LABEL_BYTES: usize = 400;
/// `[CLS]` and `[SEP]`.
const SPECIAL_TOKENS: usize = 2;
/// Room for text that is kept whatever the title and the heading take.
const MIN_BODY_TOKENS: usize = 64;

/// Cuts a document into chunks, in the order of the text.
///
/// Every character that is not blank is in at least one chunk; no chunk cuts a grapheme cluster. A text without any
/// visible character gives one empty chunk if the title has one, so that the document can be found by its title.
/// Takes time in proportion to the text.
pub fn chunks(title: &str, text: &str, policy: &ChunkPolicy) -> Vec<Chunk> {
    let sections = sections::sections(text);
    let cutter = Cutter::new(title, text, policy, &sections);
    let mut pieces = Vec::new();
    for group in cutter.groups() {
        let limit = cutter.limit(group.heading_tokens);
        if limit.fits(group.measure) {
            pieces.push((group.start(&sections)..group.end(&sections), group.measure));
        } else {
            let overlap = cutter.policy.overlap_words;
            let sections = &sections[group.sections.clone()];
            packing::pack(text, sections, group.measure, limit, overlap, &mut pieces);
        }
    }
    let mut lines = LineCounter::default();
    let mut chunks = Vec::with_capacity(pieces.len());
    for (range, measure) in pieces {
        let Some(range) = trimmed(text, range) else { continue };
        if chunks.last().is_some_and(|before: &Chunk| before.end_byte >= range.end) {
            continue;
        }
        let last = range.start + text[range.clone()].trim_end().len() - 1;
        let (start_line, end_line) = lines.of(text.as_bytes(), range.start, last);
        chunks.push(Chunk {
            ordinal: chunks.len(),
            heading: cutter.heading_at((range.start + range.end) / 2),
            start_byte: range.start,
            end_byte: range.end,
            start_line,
            end_line,
            measure,
        });
    }
    if chunks.is_empty() && !title.trim().is_empty() {
        let (heading, measure) = (String::new(), Measure::default());
        chunks.push(Chunk { ordinal: 0, heading, start_byte: 0, end_byte: 0, start_line: 1, end_line: 1, measure });
    }
    chunks
}

/// The text that an embedding of a chunk is made of, before any prefix of the model: title, heading path and body, one
/// below the other, without the empty ones. A long title or path is shortened, so that the body is never crowded out.
pub fn embedded_text(title: &str, heading: &str, body: &str) -> String {
    let parts = [embedded_title(title), embedded_heading(heading), body.trim()];
    let mut joined = String::with_capacity(parts.iter().map(|part| part.len() + 1).sum());
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        if !joined.is_empty() {
            joined.push('\n');
        }
        joined.push_str(part);
    }
    joined
}

fn embedded_title(title: &str) -> &str {
    prefix_of_tokens(title.trim())
}

/// The innermost headings that fit.
fn embedded_heading(heading: &str) -> &str {
    let mut rest = heading.trim();
    while estimated_tokens(rest) > MAX_LABEL_TOKENS {
        match rest.split_once(" > ") {
            Some((_, inner)) => rest = inner,
            None => return prefix_of_tokens(rest),
        }
    }
    rest
}

/// The longest beginning of a label that has room, found by shortening in proportion.
fn prefix_of_tokens(text: &str) -> &str {
    let mut prefix = prefix_within(text, MAX_LABEL_BYTES);
    loop {
        let tokens = estimated_tokens(prefix);
        if tokens <= MAX_LABEL_TOKENS {
            return prefix.trim_end();
        }
        let goal = (prefix.len() * MAX_LABEL_TOKENS / tokens).min(prefix.len() - 1);
        prefix = prefix_within(prefix, goal);
    }
}

/// The beginning of `text` that has at most `max_bytes` bytes and ends between two grapheme clusters.
fn prefix_within(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    if let (true, Some(head)) = (text.as_bytes()[..=max_bytes].is_ascii(), text.get(..max_bytes)) {
        return head.trim_end_matches('\r');
    }
    let end = text.grapheme_indices(true).map(|(at, _)| at).take_while(|at| *at <= max_bytes).last();
    &text[..end.unwrap_or(0)]
}

/// The part of a range that shows something: without blank lines at the start and without blanks at the end.
/// `None` when nothing is left.
fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = &text[range.clone()];
    let visible = part.len() - part.trim_start().len();
    let end = range.start + part.trim_end().len();
    if visible == part.len() {
        return None;
    }
    // From the start of the line: its indentation says what kind of block it is.
    let start = range.start + part[..visible].rfind('\n').map_or(0, |newline| newline + 1);
    // A character that clings to the blank after it (a Unicode "prepend") keeps that blank.
    let whole = end == range.end || GraphemeCursor::new(end, text.len(), true).is_boundary(text, 0).unwrap_or(false);
    Some(start..if whole { end } else { range.end })
}

/// What a chunk may hold, and the ruler for it: tokens are counted only when they are limited.
#[derive(Debug, Clone, Copy)]
struct Limit {
    most: Measure,
    ruler: fn(&str) -> Measure,
}

impl Limit {
    fn new(most: Measure) -> Self {
        Self { most, ruler: if most.tokens == usize::MAX { measure_without_tokens } else { measure } }
    }

    fn measure(self, text: &str) -> Measure {
        (self.ruler)(text)
    }

    fn fits(self, measure: Measure) -> bool {
        measure.words <= self.most.words && measure.tokens <= self.most.tokens && measure.chars <= self.most.chars
    }

    /// The share of the limit that is used, by whatever is scarcest; 1 is full.
    fn share(self, measure: Measure) -> f64 {
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        share(measure.words, self.most.words)
            .max(share(measure.tokens, self.most.tokens))
            .max(share(measure.chars, self.most.chars))
    }
}

/// Neighbouring sections that become one chunk, or several when they are too long together.
#[derive(Debug, Clone)]
struct Group {
    sections: Range<usize>,
    measure: Measure,
    /// The level of its outermost heading; front matter counts as what follows it.
    level: u8,
    front_matter: bool,
    heading_tokens: usize,
}

impl Group {
    fn start(&self, sections: &[Section]) -> usize {
        sections[self.sections.start].start
    }

    fn end(&self, sections: &[Section]) -> usize {
        sections[self.sections.end - 1].end
    }

    fn joined(&self, next: &Self) -> Self {
        Self {
            sections: self.sections.start..next.sections.end,
            measure: self.measure + next.measure,
            level: if self.front_matter { next.level } else { self.level.min(next.level) },
            front_matter: self.front_matter && next.front_matter,
            heading_tokens: self.heading_tokens.max(next.heading_tokens),
        }
    }
}

/// One document on the table.
struct Cutter<'a> {
    /// As far as a heading could repeat it.
    title: &'a str,
    text: &'a str,
    sections: &'a [Section],
    policy: ChunkPolicy,
    /// What is left for heading path and body.
    room: Option<usize>,
}

impl<'a> Cutter<'a> {
    fn new(title: &'a str, text: &'a str, policy: &ChunkPolicy, sections: &'a [Section]) -> Self {
        let max_words = policy.max_words.max(16);
        let policy = ChunkPolicy {
            max_words,
            min_words: policy.min_words.min(max_words / 2),
            overlap_words: policy.overlap_words.min(max_words / 4),
            ..*policy
        };
        let taken = SPECIAL_TOKENS + estimated_tokens(embedded_title(title));
        let title = prefix_within(title.trim(), MAX_LABEL_BYTES);
        Self { title, text, sections, policy, room: policy.max_tokens.map(|tokens| tokens.saturating_sub(taken)) }
    }

    fn limit(&self, heading_tokens: usize) -> Limit {
        let words = self.policy.max_words;
        let tokens = self.room.map_or(usize::MAX, |room| room.saturating_sub(heading_tokens).max(MIN_BODY_TOKENS));
        Limit::new(Measure { words, tokens, chars: words * CHARS_PER_WORD })
    }

    /// Joins short sections with a neighbour, from left to right.
    fn groups(&self) -> Vec<Group> {
        let ruler = self.limit(0);
        let mut groups: Vec<Group> = Vec::new();
        for (index, section) in self.sections.iter().enumerate() {
            let next = Group {
                sections: index..index + 1,
                measure: ruler.measure(&self.text[section.start..section.end]),
                level: section.level,
                front_matter: section.front_matter,
                heading_tokens: match self.room {
                    Some(_) => estimated_tokens(embedded_heading(&self.heading(index))),
                    None => 0,
                },
            };
            match groups.pop() {
                Some(last) if self.is_short(&last) => match groups.pop() {
                    Some(before) if self.joins_backwards(&before, &last, &next) => {
                        groups.push(before.joined(&last));
                        groups.push(next);
                    }
                    before => {
                        groups.extend(before);
                        groups.push(last.joined(&next));
                    }
                },
                last => {
                    groups.extend(last);
                    groups.push(next);
                }
            }
        }
        if let Some(last) = groups.pop() {
            match groups.pop() {
                Some(before) if self.is_short(&last) => groups.push(before.joined(&last)),
                before => {
                    groups.extend(before);
                    groups.push(last);
                }
            }
        }
        groups
    }

    fn is_short(&self, group: &Group) -> bool {
        group.measure.words < self.policy.min_words
    }

    /// Whether a short group goes to the one before it rather than to the one after: a heading with little text goes
    /// to its own subsections, the last subsection to its siblings, a section between equals where there is more room.
    fn joins_backwards(&self, before: &Group, short: &Group, after: &Group) -> bool {
        if short.front_matter {
            return false;
        }
        let fits = |left: &Group, right: &Group| {
            let joined = left.joined(right);
            self.limit(joined.heading_tokens).fits(joined.measure)
        };
        match (fits(before, short), fits(short, after)) {
            (true, false) => true,
            (false, true) => false,
            _ => match after.level.cmp(&short.level) {
                std::cmp::Ordering::Greater => false,
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => before.measure.words < after.measure.words,
            },
        }
    }

    /// The heading path in force at a byte.
    fn heading_at(&self, byte: usize) -> String {
        match self.sections.partition_point(|section| section.start <= byte) {
            0 => String::new(),
            after => self.heading(after - 1),
        }
    }

    /// The heading path of a section, innermost headings kept when it is long, without the document's title.
    fn heading(&self, section: usize) -> String {
        let mut path: Vec<&str> = Vec::new();
        let mut bytes = 0;
        let mut next = Some(section);
        while let Some(index) = next {
            let section = &self.sections[index];
            next = section.parent;
            let heading = &self.text[section.heading.clone()];
            let is_title = next.is_none() && reads_the_same(heading, self.title);
            if heading.is_empty() || is_title {
                continue;
            }
            bytes += heading.len() + 3;
            if bytes > MAX_LABEL_BYTES + 3 && !path.is_empty() {
                break;
            }
            path.push(heading);
        }
        path.reverse();
        path.join(" > ")
    }
}

/// Whether two headings read the same, whatever emphasis or blanks stand around their words.
fn reads_the_same(left: &str, right: &str) -> bool {
    fn plain(text: &str) -> impl Iterator<Item = char> {
        text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '*' | '_' | '`'))
    }
    plain(left).eq(plain(right))
}

/// Counts lines up to places that only move forward.
#[derive(Default)]
struct LineCounter {
    start: (usize, usize),
    last: (usize, usize),
}

impl LineCounter {
    /// The lines, from 1, of the bytes at `start` and at `last`; neither may lie before the one of an earlier call.
    fn of(&mut self, text: &[u8], start: usize, last: usize) -> (usize, usize) {
        let advance = |(at, newlines): &mut (usize, usize), to: usize| {
            *newlines += memchr_iter(b'\n', &text[*at..to]).count();
            *at = to;
            *newlines + 1
        };
        (advance(&mut self.start, start), advance(&mut self.last, last))
    }
}
