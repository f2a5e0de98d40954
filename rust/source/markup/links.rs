//! How links to notes are written, and which written things only look like links.

use super::{Dialect, Form, LineCounter, Piece};
use crate::source::percent;
use crate::source::tags::names_something;

/// Addresses that lead to notes.
pub const SCHEMES: [&str; 2] = ["bear://", "obsidian://"];

/// Endings of notes' files, compared without case.
const NOTES: [&str; 6] = ["md", "markdown", "mdown", "mkd", "mdx", "textbundle"];

/// Endings of what notes embed or hand out; `[[config.edn]]` may be a note's title, `[[photo.png]]` is not.
#[rustfmt::skip]
const FILES: [&str; 60] = [
    "3gp", "aac", "aiff", "avi", "avif", "base", "bmp", "bz2", "canvas", "csv", "doc", "docx", "drawio", "dwg", "eml", "epub", "excalidraw",
    "flac", "gif", "gz", "heic", "heif", "ico", "icns", "jpeg", "jpg", "key", "m4a", "m4v", "mkv", "mobi", "mov", "mp3", "mp4", "mpeg", "mpg",
    "numbers", "odp", "ods", "odt", "oga", "ogg", "ogv", "opus", "pages", "pdf", "png", "ppt", "pptx", "psd", "rtf", "svg", "tar", "tif",
    "tiff", "wav", "webm", "webp", "xls", "xlsx",
];

/// Longest target kept, in bytes; what is longer is no name.
const MAX_TARGET_BYTES: usize = 1000;
/// Longest text of a link that is kept, in characters.
const MAX_TEXT_CHARS: usize = 200;

/// How a link names its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// By title, alias, file name or path: `[[...]]`.
    Name,
    /// By title, behind which `/` may lead on to a heading: `[[...]]` in Bear, and Bear's addresses that name a title.
    Title,
    /// By the path of its file, seen from the file that holds the link: `[...](...)`.
    Path,
    /// By Bear's unique identifier.
    Id,
    /// By the path of its file in an Obsidian vault; the target begins with the vault's name and `/`.
    Vault,
}

/// One link from a note to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// How the target is to be understood.
    pub kind: LinkKind,
    /// Whether the target's text is to be shown in place: `![[...]]`.
    pub embedded: bool,
    /// What is linked to, without heading; percent signs resolved.
    pub target: String,
    /// Heading or `^block` in the target; empty without one. For [`LinkKind::Title`] the target holds it, because its `/`
    /// may also belong to the title.
    pub heading: String,
    /// The text that stands for the link.
    pub text: String,
    /// Line of the link, from 1.
    pub line: usize,
}

/// Sorts pieces into links, names of files, and what is neither.
pub struct Collector {
    dialect: Dialect,
    pub links: Vec<Link>,
    pub files: Vec<String>,
    /// Tags in Logseq's form `#[[two words]]`.
    pub tags: Vec<String>,
}

impl Collector {
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, links: Vec::new(), files: Vec::new(), tags: Vec::new() }
    }

    pub fn add(&mut self, body: &str, piece: &Piece, line: usize) {
        match piece.form {
            Form::Wiki => self.add_wiki(body, piece, line),
            Form::Address => self.add_address(piece, line),
        }
    }

    fn add_wiki(&mut self, body: &str, piece: &Piece, line: usize) {
        let Some((embedded, inner)) = wiki_inner(&body[piece.range.clone()]) else { return };
        let (target, alias) = split_alias(inner);
        let (kind, (target, heading)) = match self.dialect {
            Dialect::Bear => (LinkKind::Title, (target, "")),
            _ => (LinkKind::Name, split_heading(target)),
        };
        if target.is_empty() || target.len() > MAX_TARGET_BYTES || looks_like_code(inner) {
            return;
        }
        if self.dialect != Dialect::Bear && body[..piece.range.start].ends_with('#') && !embedded {
            self.tags.push(target.to_owned());
        }
        if is_file(target) {
            return self.add_file(target);
        }
        let shown = if alias.is_empty() { target } else { alias };
        self.push(kind, embedded, target.to_owned(), heading.to_owned(), shown, line);
    }

    fn add_address(&mut self, piece: &Piece, line: usize) {
        let address = piece.address.trim();
        if let Some(rest) = strip_scheme(address, "bear://") {
            if let Some((kind, target, heading)) = bear_target(rest) {
                self.push(kind, piece.embedded, target, heading, &piece.label, line);
            }
        } else if let Some(rest) = strip_scheme(address, "obsidian://") {
            if let Some((target, heading)) = vault_target(rest) {
                self.push(LinkKind::Vault, piece.embedded, target, heading, &piece.label, line);
            }
        } else if address.starts_with("((") {
            // Logseq's way to name a block; blocks are not indexed by themselves.
        } else if !has_scheme(address) && !address.starts_with(['#', '?']) && !address.starts_with("//") {
            let (path, heading) = address.split_once('#').unwrap_or((address, ""));
            let path = percent::decode(path.split('?').next().unwrap_or_default());
            let ending = ending(&path);
            let is_note = ending.is_none_or(|ending| is_one_of(ending, &NOTES));
            if path.is_empty() || path.ends_with('/') || path.len() > MAX_TARGET_BYTES {
                return;
            }
            if piece.embedded || !is_note {
                self.add_file(&path);
            } else if self.dialect != Dialect::Bear {
                self.push(LinkKind::Path, false, path, percent::decode(heading), &piece.label, line);
            }
        }
    }

    fn push(&mut self, kind: LinkKind, embedded: bool, target: String, heading: String, text: &str, line: usize) {
        let text = if text.trim().is_empty() { &target } else { text };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_TEXT_CHARS).collect();
        self.links.push(Link { kind, embedded, target, heading, text, line });
    }

    fn add_file(&mut self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        if !name.is_empty() && !self.files.iter().any(|known| known == name) {
            self.files.push(name.to_owned());
        }
    }
}

/// The wiki links in front matter, whose first line is the first of the text: Obsidian follows those in properties.
pub fn in_front_matter(block: &str) -> Vec<Link> {
    let mut found = Collector::new(Dialect::Plain);
    let mut lines = LineCounter::new(block, 0);
    let mut at = 0;
    while let Some(open) = block[at..].find("[[") {
        let start = at + open;
        let Some(length) = block[start..].find("]]") else { break };
        at = start + length + 2;
        let range = start..at;
        let piece = Piece { range, form: Form::Wiki, embedded: false, address: String::new(), label: String::new() };
        found.add_wiki(block, &piece, lines.line_of(start));
    }
    found.links
}

/// Whether an address that stands in running text ends before `c`.
pub fn ends_address(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '(' | ')' | '[' | ']' | '`')
}

/// What stands between the brackets, and whether `!` stands before them.
fn wiki_inner(raw: &str) -> Option<(bool, &str)> {
    let embedded = raw.starts_with('!');
    let inner = raw.trim_start_matches('!').strip_prefix("[[")?.strip_suffix("]]")?;
    (!inner.contains('\n')).then_some((embedded, inner.trim()))
}

/// `target|alias`; inside a table the bar is written `\|`.
fn split_alias(inner: &str) -> (&str, &str) {
    let (target, alias) = inner.split_once('|').unwrap_or((inner, ""));
    (target.trim_end_matches('\\').trim(), alias.trim())
}

/// `target#heading`, `target#^block` and `target^block`; the block keeps its mark.
fn split_heading(target: &str) -> (&str, &str) {
    let Some(at) = target.find(['#', '^']) else { return (target, "") };
    (target[..at].trim_end(), target[at..].trim_start_matches('#').trim())
}

/// `[[ -f $x ]]` is a test in a shell, `[[1, 2], [3, 4]]` a matrix, `[[<% tp.date %>]]` a template.
fn looks_like_code(inner: &str) -> bool {
    const SIGNS: [&str; 12] =
        [" == ", " != ", " =~ ", " -eq ", " -ne ", " -gt ", " -lt ", "&&", "${", "$(", "<%", "{{"];
    let is_option = inner.strip_prefix('-').is_some_and(|rest| {
        let mut rest = rest.chars();
        rest.next().is_some_and(|c| c.is_ascii_alphabetic()) && rest.next() == Some(' ')
    });
    let is_list = inner.contains(',') && !inner.chars().any(char::is_alphabetic);
    is_option || is_list || inner.starts_with('$') || SIGNS.iter().any(|sign| inner.contains(sign)) || is_rule(inner)
}

/// Only punctuation; a year or a date is a name all the same.
fn is_rule(inner: &str) -> bool {
    !inner.chars().any(|c| c.is_ascii_digit()) && !names_something(inner)
}

fn strip_scheme<'a>(address: &'a str, scheme: &str) -> Option<&'a str> {
    let (head, rest) = address.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Whether an address begins like `https:`. One letter is a drive.
fn has_scheme(address: &str) -> bool {
    let Some((scheme, _)) = address.split_once(':') else { return false };
    scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// `x-callback-url/open-note?id=...&header=...`, and the shorter forms in use.
fn bear_target(rest: &str) -> Option<(LinkKind, String, String)> {
    let (action, query) = rest.split_once('?').unwrap_or((rest, ""));
    let action = action.strip_prefix("x-callback-url/").unwrap_or(action).trim_end_matches('/');
    if action != "open-note" {
        return None;
    }
    let heading = parameter(query, "header").unwrap_or_default();
    if let Some(id) = parameter(query, "id") {
        return Some((LinkKind::Id, id, heading));
    }
    parameter(query, "title").map(|title| (LinkKind::Title, title, heading))
}

/// `open?vault=...&file=...` and `vault/NAME/PATH`.
fn vault_target(rest: &str) -> Option<(String, String)> {
    let (action, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (vault, file) = match action.trim_end_matches('/') {
        "open" => (parameter(query, "vault").unwrap_or_default(), parameter(query, "file")?),
        other => {
            let (vault, file) = other.strip_prefix("vault/")?.split_once('/')?;
            (percent::decode(vault), percent::decode(file))
        }
    };
    let (file, heading) = split_heading(&file);
    (!file.is_empty()).then(|| (format!("{vault}/{}", file.trim_start_matches('/')), heading.to_owned()))
}

/// The decoded value of one parameter, if it is there and not empty.
fn parameter(query: &str, name: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        (key == name && !value.is_empty()).then(|| percent::decode(value))
    })
}

/// What follows the last dot of the last part, when it looks like a file's ending.
fn ending(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let (stem, ending) = name.rsplit_once('.')?;
    let is_short = !ending.is_empty() && ending.len() <= 10 && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (!stem.is_empty() && is_short).then_some(ending)
}

fn is_file(target: &str) -> bool {
    ending(target).is_some_and(|ending| is_one_of(ending, &FILES))
}

fn is_one_of(ending: &str, known: &[&str]) -> bool {
    known.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::super::{Markup, read};
    use super::*;

    fn markup(text: &str) -> Markup {
        read(text, 0, Dialect::Obsidian)
    }

    fn shown(links: &[Link]) -> Vec<String> {
        let line = |link: &Link| {
            let mark = if link.embedded { "!" } else { "" };
            format!("{mark}{:?} {} {} {}", link.kind, link.target, link.heading, link.text)
        };
        links.iter().map(line).collect()
    }

    #[test]
    fn every_way_of_writing_a_wiki_link_is_read() {
        let text = "[[Target]] [[Target|alias]] [[Target#Heading]] [[Target#A#B|c]] [[Target#^block]] [[Target^block]] \
                    ![[Target]] [[folder/Target.md]] [[ spaced ]] [[2024-01-31]] [[Foo [bar] baz]]";
        assert_eq!(
            shown(&markup(text).links),
            [
                "Name Target  Target",
                "Name Target  alias",
                "Name Target Heading Target",
                "Name Target A#B c",
                "Name Target ^block Target",
                "Name Target ^block Target",
                "!Name Target  Target",
                "Name folder/Target.md  folder/Target.md",
                "Name spaced  spaced",
                "Name 2024-01-31  2024-01-31",
                "Name Foo [bar] baz  Foo [bar] baz",
            ]
        );
        assert_eq!(shown(&markup("| a |\n|---|\n| [[x\\|y]] |\n").links), ["Name x  y"]);
    }

    #[test]
    fn bear_s_titles_keep_slashes_and_hashes() {
        let links = read("[[C# notes/Part|the part]]", 0, Dialect::Bear).links;
        assert_eq!(shown(&links), ["Title C# notes/Part  the part"]);
    }

    #[test]
    fn links_between_files_are_read_and_others_are_not() {
        let text = "[a](note.md) [b](../up/my%20note.md#Some%20part) [c](<with space.md>) [d][ref] [e](plain) [f](https://x.y/z.md) \
                    [g](mailto:a@b.c) [h](#own) [i](//host/x.md) [j](folder/) [`k`](k.md \"title\")\n\n[ref]: other.md\n";
        assert_eq!(
            shown(&markup(text).links),
            [
                "Path note.md  a",
                "Path ../up/my note.md Some part b",
                "Path with space.md  c",
                "Path other.md  d",
                "Path plain  e",
                "Path k.md  k",
            ]
        );
    }

    #[test]
    fn embedded_images_and_handed_out_files_are_known_by_name() {
        let text = "![[photo 1.png|200]] ![](assets/my%20photo.jpg) [plan](files/plan.pdf) [code](x.py) [terms](LICENSE.txt) \
             ![[photo 1.png]]";
        let markup = markup(text);
        assert_eq!(markup.files, ["photo 1.png", "my photo.jpg", "plan.pdf", "x.py", "LICENSE.txt"]);
        assert_eq!(markup.links, []);
        assert_eq!(
            shown(&super::super::read("[[config.edn]]", 0, Dialect::Logseq).links),
            ["Name config.edn  config.edn"]
        );
    }

    #[test]
    fn addresses_of_bear_and_obsidian_name_notes() {
        let text = "[a](bear://x-callback-url/open-note?id=AB-1&header=Part%20two) <bear://x-callback-url/open-note?title=My%20note> \
                    [b](obsidian://open?vault=My%20vault&file=sub%2Fnote%23Part) [c](obsidian://vault/V/sub/note) \
                    [d](bear://x-callback-url/search?term=x)";
        assert_eq!(
            shown(&markup(text).links),
            [
                "Id AB-1 Part two a",
                "Title My note  bear://x-callback-url/open-note?title=My%20note",
                "Vault My vault/sub/note Part b",
                "Vault V/sub/note  c",
            ]
        );
    }

    #[test]
    fn what_only_looks_like_a_link_is_none() {
        let text = "if [[ -f file ]] [[ $a == $b ]] [[1, 2], [3, 4]] [[<% tp.date %>]] [[{{title}}]] [[ ]] [[#own heading]] \
                    [[^own-block]] [[a\nb]] [[---]] [block](((63bc6201-53b1-47a4-834f-83934b69ad49)))";
        assert_eq!(shown(&markup(text).links), Vec::<String>::new());
    }

    #[test]
    fn a_hash_before_a_wiki_link_makes_a_tag_of_it() {
        let markup = read("- #[[two words]] #plain", 0, Dialect::Logseq);
        assert_eq!(markup.tags, ["plain", "two words"]);
        assert_eq!(shown(&markup.links), ["Name two words  two words"]);
    }

    #[test]
    fn links_in_front_matter_are_read_with_their_lines() {
        let links = in_front_matter("---\nup: [[One]]\nsee: \"[[Two|2]]\"\nbad: [[broken\n---\n");
        assert_eq!(shown(&links), ["Name One  One", "Name Two  2"]);
        assert_eq!([links[0].line, links[1].line], [2, 3]);
    }
}
