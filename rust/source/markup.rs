//! What a Markdown text says beside its words: tags, links, tasks, properties written in the text, names of files.
//!
//! One parse finds all of it, so that nothing is taken from code, math, HTML or comments. How links are written: `links`;
//! tasks: `tasks`; `key:: value` lines: `inline`. Front matter is `front_matter`'s, and what a link means is decided when
//! the whole library is known, in `crate::links`.

mod inline;
mod links;
mod tasks;

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

pub use links::{Link, LinkKind, in_front_matter as links_in_front_matter};
pub use tasks::Tasks;

use super::tags::{self, WideTags};

/// How a text is written; what people call Markdown differs by program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Bear: a link names a title, and `/` leads on to a heading.
    Bear,
    /// A folder of no known program.
    Plain,
    /// A vault of Obsidian, known by its folder `.obsidian`.
    Obsidian,
    /// A graph of Logseq, known by its folders.
    Logseq,
}

impl Dialect {
    fn wide_tags(self) -> WideTags {
        match self {
            Self::Bear | Self::Plain => WideTags::Yes,
            Self::Obsidian | Self::Logseq => WideTags::No,
        }
    }

    /// Whether `%%` encloses a comment.
    fn has_comments(self) -> bool {
        matches!(self, Self::Plain | Self::Obsidian)
    }
}

/// Everything that one text says beside its words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markup {
    /// As typed, without `#`; of two spellings of one tag the first.
    pub tags: Vec<String>,
    /// Links to other notes, in their order.
    pub links: Vec<Link>,
    /// Items that can be ticked.
    pub tasks: Tasks,
    /// `key:: value` lines, in their order.
    pub properties: Vec<(String, String)>,
    /// How many of `properties` stand above everything else, where Logseq keeps those of the page.
    pub page_properties: usize,
    /// Names of embedded images and linked files that are no notes, without folders, no name twice.
    pub files: Vec<String>,
}

/// Reads `text` from byte `start` on, where its body begins.
pub fn read(text: &str, start: usize, dialect: Dialect) -> Markup {
    let body = &text[start..];
    let mut markup = Markup::default();
    if !may_hold_markup(body) {
        return markup;
    }
    let parts = Parts::of(body, dialect);
    markup.tags = tags::in_runs(body, &parts.runs, dialect.wide_tags());
    let mut lines = LineCounter::new(text, start);
    let mut found = links::Collector::new(dialect);
    for piece in &parts.links {
        found.add(body, piece, lines.line_of(start + piece.range.start));
    }
    markup.files = found.files;
    markup.links = found.links;
    for tag in found.tags {
        tags::add(&mut markup.tags, tag);
    }
    markup.tasks = tasks::count(body, &parts.items);
    (markup.properties, markup.page_properties) = inline::properties(body, &parts.runs);
    markup
}

/// Most texts without any of these bytes need no parsing.
fn may_hold_markup(body: &str) -> bool {
    let bytes = body.as_bytes();
    let lists = [&b"- TODO"[..], b"- DOING", b"- DONE", b"- LATER", b"- NOW", b"- WAIT", b"- CANCEL"];
    memchr::memchr2(b'[', b'<', bytes).is_some()
        || memchr::memmem::find(bytes, b"::").is_some()
        || memchr::memmem::find(bytes, b"://").is_some()
        || tags::may_hold_tags(body)
        || lists.iter().any(|marker| memchr::memmem::find(bytes, marker).is_some())
}

/// The parts of a text that mean something here, as byte ranges.
struct Parts {
    /// Plain text: outside code, math, HTML, link targets and comments. Pieces that touch are one run, because the parser
    /// splits text at every character that might have been markup, such as `_`.
    runs: Vec<Range<usize>>,
    links: Vec<Piece>,
    /// Starts of list items.
    items: Vec<usize>,
}

/// A link as the parser or a search for bare addresses found it.
struct Piece {
    range: Range<usize>,
    form: Form,
    /// An embed: `!` stands before it.
    embedded: bool,
    /// What the parser took for the address; empty for wiki links, which are read again.
    address: String,
    /// The text that stands for it.
    label: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `[[...]]`
    Wiki,
    /// `[...](...)`, `[...][...]`, `<...>` or a bare address.
    Address,
}

impl Parts {
    fn of(body: &str, dialect: Dialect) -> Self {
        let mut parts = Self { runs: Vec::new(), links: Vec::new(), items: Vec::new() };
        let mut in_code = 0_usize;
        // Links nest: an image stands in the text of a link.
        let mut open: Vec<usize> = Vec::new();
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_WIKILINKS
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_MATH
            | Options::ENABLE_STRIKETHROUGH;
        for (event, range) in Parser::new_ext(body, options).into_offset_iter() {
            match event {
                Event::Start(Tag::CodeBlock(_)) => in_code += 1,
                Event::End(TagEnd::CodeBlock) => in_code = in_code.saturating_sub(1),
                Event::Start(Tag::Item) => parts.items.push(range.start),
                Event::Start(Tag::Link { link_type, dest_url, .. }) => {
                    open.push(parts.links.len());
                    parts.links.push(Piece::new(range, link_type, &dest_url, false));
                }
                Event::Start(Tag::Image { link_type, dest_url, .. }) => {
                    open.push(parts.links.len());
                    parts.links.push(Piece::new(range, link_type, &dest_url, true));
                }
                Event::End(TagEnd::Link | TagEnd::Image) => drop(open.pop()),
                Event::Text(text) if in_code == 0 => {
                    let is_wiki = match open.last().and_then(|at| parts.links.get_mut(*at)) {
                        Some(piece) => {
                            piece.label.push_str(&text);
                            piece.form == Form::Wiki
                        }
                        None => false,
                    };
                    match parts.runs.last_mut() {
                        _ if is_wiki => {}
                        Some(last) if last.end == range.start => last.end = range.end,
                        _ => parts.runs.push(range),
                    }
                }
                Event::Code(text) => {
                    if let Some(piece) = open.last().and_then(|at| parts.links.get_mut(*at)) {
                        piece.label.push_str(&text);
                    }
                }
                _ => {}
            }
        }
        if dialect.has_comments() {
            parts.leave_out_comments(body);
        }
        parts.add_bare_addresses(body);
        parts
    }

    /// Drops what stands between two `%%`. One without a second is text.
    fn leave_out_comments(&mut self, body: &str) {
        let marks: Vec<usize> = self
            .runs
            .iter()
            .flat_map(|run| memchr::memmem::find_iter(&body.as_bytes()[run.clone()], b"%%").map(|at| run.start + at))
            .collect();
        let comments: Vec<Range<usize>> = marks.chunks_exact(2).map(|pair| pair[0]..pair[1] + 2).collect();
        if comments.is_empty() {
            return;
        }
        // The last comment that begins at or before `at`.
        let comment_at = |at: usize| {
            let next = comments.partition_point(|comment| comment.start <= at);
            next.checked_sub(1).map(|last| &comments[last]).filter(|comment| at < comment.end)
        };
        self.links.retain(|piece| comment_at(piece.range.start).is_none());
        self.items.retain(|start| comment_at(*start).is_none());
        let mut kept = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            let mut at = run.start;
            let from = comments.partition_point(|comment| comment.end <= run.start);
            for comment in comments[from..].iter().take_while(|comment| comment.start < run.end) {
                if at < comment.start {
                    kept.push(at..comment.start);
                }
                at = comment.end.max(at);
            }
            if at < run.end {
                kept.push(at..run.end);
            }
        }
        self.runs = kept;
    }

    /// Addresses of notes that stand in the text as they are.
    fn add_bare_addresses(&mut self, body: &str) {
        if memchr::memmem::find(body.as_bytes(), b"://").is_none() {
            return;
        }
        for run in &self.runs {
            let text = &body[run.clone()];
            for scheme in links::SCHEMES {
                for at in memchr::memmem::find_iter(text.as_bytes(), scheme.as_bytes()) {
                    let is_word = text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
                    let end = text[at..].find(links::ends_address).map_or(text.len(), |end| at + end);
                    // The text of `[...](bear://...)` or `<bear://...>` was taken with its link.
                    let start = run.start + at;
                    let is_taken = self.links.iter().any(|piece| piece.range.contains(&start));
                    if !is_word && !is_taken {
                        let address = text[at..end].trim_end_matches(['.', ',', ';', ':', '!', '?']).to_owned();
                        let label = String::new();
                        self.links.push(Piece {
                            range: start..run.start + end,
                            form: Form::Address,
                            embedded: false,
                            address,
                            label,
                        });
                    }
                }
            }
        }
        self.links.sort_by_key(|piece| piece.range.start);
    }
}

impl Piece {
    fn new(range: Range<usize>, link_type: LinkType, address: &str, embedded: bool) -> Self {
        let form = if matches!(link_type, LinkType::WikiLink { .. }) { Form::Wiki } else { Form::Address };
        let address = if form == Form::Wiki { String::new() } else { address.to_owned() };
        Self { range, form, embedded, address, label: String::new() }
    }
}

/// Line numbers for offsets that only grow.
struct LineCounter<'t> {
    text: &'t [u8],
    at: usize,
    line: usize,
}

impl<'t> LineCounter<'t> {
    fn new(text: &'t str, start: usize) -> Self {
        let mut counter = Self { text: text.as_bytes(), at: 0, line: 1 };
        counter.line_of(start);
        counter
    }

    /// The line, from 1, on which byte `offset` stands.
    fn line_of(&mut self, offset: usize) -> usize {
        if let Some(passed) = self.text.get(self.at..offset) {
            self.line += memchr::memchr_iter(b'\n', passed).count();
            self.at = offset;
        }
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn obsidian(text: &str) -> Markup {
        read(text, 0, Dialect::Obsidian)
    }

    fn targets(markup: &Markup) -> Vec<&str> {
        markup.links.iter().map(|link| link.target.as_str()).collect()
    }

    #[test]
    fn code_math_html_and_comments_hold_no_links_tags_or_tasks() {
        let text = "`[[code]]` $[[math]]$ <!-- [[html]] #html -->\n\n```\n- [ ] [[fence]] #fence\n```\n\n$$\n[[block math]]\n$$\n\n\
                    %% [[comment]] #comment %% [[kept]] #kept\n\n%%\n- [ ] task in a comment\n\n[[long comment]]\n%%\n\n    [[indented]]\n";
        let markup = obsidian(text);
        assert_eq!(targets(&markup), ["kept"]);
        assert_eq!(markup.tags, ["kept"]);
        assert_eq!(markup.tasks, Tasks::default());
    }

    #[test]
    fn a_single_pair_of_percent_signs_comments_nothing() {
        assert_eq!(targets(&obsidian("100%% of [[this]]")), ["this"]);
        assert_eq!(targets(&read("%% [[bear has no comments]] %%", 0, Dialect::Bear)), ["bear has no comments"]);
    }

    #[test]
    fn a_link_s_line_counts_from_the_start_of_the_text() {
        let text = "---\na: b\n---\n\n[[one]]\n\ntext [[two]] and [[three]]\n";
        let lines: Vec<usize> = read(text, 13, Dialect::Obsidian).links.iter().map(|link| link.line).collect();
        assert_eq!(lines, [5, 7, 7]);
    }

    #[test]
    fn footnotes_and_callouts_are_no_links_and_what_they_hold_counts() {
        let text = "Text[^1].\n\n[^1]: See [[source]].\n\n> [!note] Title [[called out]]\n> #quoted\n";
        let markup = obsidian(text);
        assert_eq!(targets(&markup), ["source", "called out"]);
        assert_eq!(markup.tags, ["quoted"]);
    }

    #[test]
    fn a_text_without_marks_is_not_parsed() {
        assert_eq!(obsidian("Plain words, 5 < 6.\n\n- a list\n- of words\n"), Markup::default());
        assert!(!may_hold_markup("Plain words.\n\n- a list\n- of words\n"));
    }

    #[test]
    fn bare_addresses_of_notes_are_links_where_they_stand() {
        let text = "See bear://x-callback-url/open-note?id=A-B_C, then <bear://x-callback-url/open-note?id=D> and \
                    [E](bear://x-callback-url/open-note?id=E).";
        assert_eq!(targets(&obsidian(text)), ["A-B_C", "D", "E"]);
    }
}
