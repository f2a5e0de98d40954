//! `name:value` and `#tag` -> filters: the part of `lex` that knows their names and values.

use super::{
    Filter, dates,
    lex::{Lexer, Token},
    marks::{
        beginning, core, is_close_bracket, is_colon, is_hash, is_punctuation, is_quote, is_sentence_mark, is_separator,
        single_spaced,
    },
};

/// A quoted value of a filter, and a `#tag of several words#`, end within this many bytes.
const MAX_VALUE_BYTES: usize = 200;
/// Sentences about filters that could not be read; more would help nobody.
const MAX_MISREAD: usize = 3;

impl Lexer<'_> {
    /// `#tag` or `#two words#`.
    pub(super) fn hash_tag(&mut self) -> bool {
        let Some((tag, end)) = self.hash_tag_at(self.at) else { return false };
        self.push_filter(Filter::Tag(tag), end);
        true
    }

    fn hash_tag_at(&self, at: usize) -> Option<(String, usize)> {
        let hash = self.text[at..].chars().next().filter(|&c| is_hash(c))?;
        let start = at + hash.len_utf8();
        let word_end = self.word_end(start);
        let first = self.text[start..].chars().next()?;
        if is_separator(first) || is_punctuation(first) {
            return None;
        }
        if let Some((tag, end)) = self.spaced_tag(start) {
            return Some((tag, end));
        }
        let tag = tag_name(&self.text[start..word_end])?;
        // `#5` is the number of something.
        tag.chars().any(|c| !c.is_numeric()).then_some((tag, word_end))
    }

    /// The rest of `#two words#`: the closing `#` directly follows a word and ends one, as in Bear. A single letter before it
    /// is no such word: `#work C#` names a language.
    fn spaced_tag(&self, start: usize) -> Option<(String, usize)> {
        let rest = &self.text[start..];
        let ends = |c: char| is_hash(c) || matches!(c, '\n' | '\r' | '\0') || (is_quote(c) && !matches!(c, '\'' | '’'));
        let length = beginning(rest, MAX_VALUE_BYTES).find(ends)?;
        let close = rest[length..].chars().next().filter(|&c| is_hash(c))?;
        let inner = &rest[..length];
        let after = rest[length + close.len_utf8()..].chars().next();
        let closes = inner.chars().next_back().is_some_and(|c| !is_separator(c))
            && after.is_none_or(|c| is_separator(c) || is_punctuation(c) && !is_hash(c));
        let last_word = inner.rsplit(is_separator).next()?;
        let is_language = last_word.len() == 1 && last_word.len() < inner.len();
        let tag = (closes && !is_language).then(|| tag_name(inner)).flatten()?;
        Some((tag, start + length + close.len_utf8()))
    }

    /// `name:value` with a name that is known and a value that it can have; anything else is a word.
    pub(super) fn field(&mut self) -> bool {
        let rest = self.rest();
        let name = &rest[..rest.bytes().take_while(u8::is_ascii_alphabetic).count()];
        let Some(colon) = rest[name.len()..].chars().next().filter(|&c| is_colon(c)) else { return false };
        let name = name.to_ascii_lowercase();
        let start = self.at + name.len() + colon.len_utf8();
        match name.as_str() {
            "tag" => {
                let found = self.hash_tag_at(start).or_else(|| {
                    let (value, end) = self.value(start)?;
                    Some((tag_name(&value)?, end))
                });
                let Some((tag, end)) = found else { return false };
                self.push_filter(Filter::Tag(tag), end);
            }
            "title" => return self.title(start),
            "in" => {
                let Some((value, end)) = self.value(start) else { return false };
                self.push_filter(Filter::Source(value), end);
            }
            "is" => {
                let Some((value, end)) = self.value(start) else { return false };
                let filter = match value.to_ascii_lowercase().as_str() {
                    "archived" => Filter::Archived,
                    "pinned" => Filter::Pinned,
                    "locked" => Filter::Locked,
                    "todo" => Filter::Todo,
                    "done" => Filter::Done,
                    _ => return self.misread(start, end, "not archived, pinned, locked, todo or done"),
                };
                self.push_filter(filter, end);
            }
            "after" | "before" | "updated" | "created" => {
                let Some((value, end)) = self.value(start) else { return false };
                let Some(filter) = dates::filter(&name, &value, self.today) else {
                    return self.misread(
                        start,
                        end,
                        "not a date such as 2024, 2024-05, 2024-05-31, yesterday, last-week or 30d",
                    );
                };
                self.push_filter(filter, end);
            }
            "prop" => return self.property(start),
            _ => return false,
        }
        true
    }

    fn title(&mut self, start: usize) -> bool {
        if let Some((inner, end)) = self.quoted(start, usize::MAX) {
            let (prefix, end) = self.star(inner, end);
            self.push_phrase(inner, prefix, true);
            self.at = end;
            self.skip_sentence_marks();
        } else {
            let end = self.word_end(start);
            let written = &self.text[start..end];
            if core(written).0.chars().all(is_punctuation) {
                return false;
            }
            self.push_word(written, true);
            self.at = end;
        }
        self.glued = true;
        true
    }

    /// `key=value`; both may be quoted. The value `*` stands for any.
    fn property(&mut self, start: usize) -> bool {
        let (key, equals) = match self.quoted(start, MAX_VALUE_BYTES) {
            Some((inner, end)) => (single_spaced(inner), end),
            None => {
                let word = &self.text[start..self.word_end(start)];
                let length = word.find('=').unwrap_or(word.len());
                (word[..length].to_owned(), start + length)
            }
        };
        if key.is_empty() || !self.text[equals..].starts_with('=') {
            return self.misread(start, self.word_end(start), "not of the form key=value");
        }
        let value = equals + 1;
        let end = self.word_end(value);
        let any = (&self.text[value..end] == "*").then(|| ("*".to_owned(), end));
        let Some((value, end)) = any.or_else(|| self.value(value)) else { return false };
        self.push_filter(Filter::Property { key, value }, end);
        true
    }

    /// A filter's value, quoted or up to the word's end, and where it ends; None when there is none.
    fn value(&mut self, start: usize) -> Option<(String, usize)> {
        let (value, end) = if let Some((inner, end)) = self.quoted(start, MAX_VALUE_BYTES) {
            (single_spaced(inner), end)
        } else {
            let end = self.word_end(start);
            let value = self.text[start..end].trim_matches(is_quote).trim_end_matches([',', ';', '?', '!']);
            // A full stop ends a sentence; two of them leave a range of dates open.
            let value = value.strip_suffix('.').filter(|rest| !rest.ends_with('.')).unwrap_or(value);
            (value.to_owned(), end)
        };
        (!value.chars().all(is_punctuation)).then_some((value, end))
    }

    fn push_filter(&mut self, filter: Filter, end: usize) {
        self.tokens.push(Token::Filter(filter));
        self.at = end;
        self.skip_sentence_marks();
        self.glued = true;
    }

    /// Leaves the text from here to `end` to be read as words, and remembers to say so.
    fn misread(&mut self, value: usize, end: usize, why: &str) -> bool {
        if self.misread.len() < MAX_MISREAD {
            let (name, value) = (&self.text[self.at..value], single_spaced(&self.text[value..end]));
            self.misread.push(format!("\"{name}{value}\" is searched as text: \"{value}\" is {why}."));
        }
        false
    }
}

/// A tag without its marks; None when nothing is left of it.
fn tag_name(value: &str) -> Option<String> {
    let name = value
        .trim_start_matches(is_hash)
        .trim_end_matches(|c| is_sentence_mark(c) || is_quote(c) || is_close_bracket(c));
    // `work/*` asks for the children, which `work` has anyway.
    let name = name.trim_end_matches("/*").trim_end_matches(is_hash).trim_matches('/');
    let name = single_spaced(name);
    (!name.chars().all(is_punctuation)).then_some(name)
}
