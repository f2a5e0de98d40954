//! Which program a folder belongs to, and how Logseq calls the pages in its files.

use std::path::Path;

use jiff::civil::Date;

use crate::source::markup::Dialect;
use crate::source::percent;

/// The program whose folder `root` is.
pub fn dialect_of(root: &Path) -> Dialect {
    let has = |name: &str| root.join(name).is_dir();
    if has(".obsidian") {
        Dialect::Obsidian
    } else if has("logseq") || (has("pages") && has("journals")) {
        Dialect::Logseq
    } else {
        Dialect::Plain
    }
}

/// A page's name from its file's: a `/` in it is written `___`, and other signs that files cannot have as in addresses.
pub fn page_name(stem: &str) -> String {
    percent::decode(&stem.replace("___", "/"))
}

/// How links call the journal page in the file with this id: `journals/2024_01_31.md` is `Jan 31st, 2024`.
pub fn journal_name(id: &str) -> Option<String> {
    let stem = id.strip_prefix("journals/")?.split('.').next()?;
    let mut parts = stem.split(['_', '-']);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let date = Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()?;
    let ending = match date.day() {
        1 | 21 | 31 => "st",
        2 | 22 => "nd",
        3 | 23 => "rd",
        _ => "th",
    };
    Some(format!("{} {}{ending}, {}", date.strftime("%b"), date.day(), date.year()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_called_as_logseq_shows_them() {
        assert_eq!(page_name("Term___Page"), "Term/Page");
        assert_eq!(page_name("a%3Ab"), "a:b");
        assert_eq!(journal_name("journals/2020_09_03.md").as_deref(), Some("Sep 3rd, 2020"));
        assert_eq!(journal_name("journals/2021-12-11.md").as_deref(), Some("Dec 11th, 2021"));
        assert_eq!(journal_name("pages/2020_09_03.md"), None);
        assert_eq!(journal_name("journals/notes.md"), None);
    }
}
