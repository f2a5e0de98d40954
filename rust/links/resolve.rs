//! What a link means, among the notes that share its key. Pure: everything it needs is handed to it.
//!
//! The best way in which any note fits decides: its path as written, its title, an alias, and then each of them without regard
//! to case and composition. Of several that fit equally well, those in the nearest folder count, and when it is still not
//! clear which one is meant, all of them.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::names::{NameKind, without_ending};
use crate::names::fold;
use crate::source::LinkKind;

/// A name that a link may mean.
pub struct Candidate {
    pub document_id: i64,
    source_id: i64,
    kind: NameKind,
    /// Composed.
    name: String,
    folded: String,
}

impl Candidate {
    pub fn new(document_id: i64, source_id: i64, kind: NameKind, name: String) -> Self {
        let name = composed(&name);
        let folded = fold(&name);
        Self { document_id, source_id, kind, name, folded }
    }
}

/// Where a link stands.
pub struct Place {
    source_id: i64,
    /// Folder of its note below the source's, composed; empty at the top.
    folder: String,
}

impl Place {
    /// The place of the document with this id.
    pub fn new(source_id: i64, external_id: String) -> Self {
        let folder = external_id.rsplit_once('/').map_or("", |(folder, _)| folder);
        Self { source_id, folder: composed(folder) }
    }

    /// Row id of the source.
    pub fn source_id(&self) -> i64 {
        self.source_id
    }
}

/// The row ids of the documents that a link means, each once, ascending. `vaults` are the names of sources, folded.
pub fn resolve(
    kind: LinkKind,
    target: &str,
    heading: &str,
    place: &Place,
    candidates: &[Candidate],
    vaults: &[(i64, String)],
) -> Vec<i64> {
    let target = composed(target);
    let here = |candidate: &&Candidate| candidate.source_id == place.source_id;
    let mut found = match kind {
        LinkKind::Id => best(candidates.iter().filter(|candidate| candidate.kind == NameKind::Id), |candidate| {
            (candidate.folded == fold(&target)).then_some(0)
        }),
        LinkKind::Title => by_title(&target, candidates, place),
        LinkKind::Path => by_path(&target, place, candidates),
        LinkKind::Vault => {
            let (vault, path) = target.split_once('/').unwrap_or(("", &target));
            let vault = fold(vault);
            let named: Vec<i64> = vaults.iter().filter(|(_, name)| *name == vault).map(|(id, _)| *id).collect();
            let path = without_ending(path);
            best(candidates.iter().filter(|candidate| named.contains(&candidate.source_id)), |candidate| {
                path_fit(candidate, path, &fold(path))
            })
        }
        LinkKind::Name if target.starts_with("./") || target.starts_with("../") => by_path(&target, place, candidates),
        LinkKind::Name => {
            let name = without_ending(target.trim_start_matches('/'));
            let folded = fold(name);
            let mut found = best(candidates.iter().filter(here), |candidate| name_fit(candidate, name, &folded));
            if found.is_empty() && !heading.is_empty() {
                // The sign that begins a heading may belong to a title: `C# notes`.
                let mark = if heading.starts_with('^') { "" } else { "#" };
                let spaced = [format!("{target}{mark}{heading}"), format!("{target}{mark} {heading}")];
                found = best(candidates.iter().filter(here), |candidate| {
                    spaced.iter().filter_map(|name| name_fit(candidate, name, &fold(name))).min()
                });
            }
            nearest(found, place)
        }
    };
    found.sort_unstable_by_key(|candidate| candidate.document_id);
    found.dedup_by_key(|candidate| candidate.document_id);
    found.into_iter().map(|candidate| candidate.document_id).collect()
}

/// The candidates with the lowest fit.
fn best<'c>(
    candidates: impl Iterator<Item = &'c Candidate>,
    fit: impl Fn(&Candidate) -> Option<u8>,
) -> Vec<&'c Candidate> {
    let mut lowest = u8::MAX;
    let mut found = Vec::new();
    for candidate in candidates {
        match fit(candidate) {
            Some(fit) if fit < lowest => {
                lowest = fit;
                found = vec![candidate];
            }
            Some(fit) if fit == lowest => found.push(candidate),
            _ => {}
        }
    }
    found
}

/// How well a candidate fits a name in a folder of files, lowest best.
fn name_fit(candidate: &Candidate, name: &str, folded: &str) -> Option<u8> {
    match candidate.kind {
        NameKind::Path => path_fit(candidate, name, folded),
        NameKind::Title if candidate.name == name => Some(2),
        NameKind::Alias if candidate.name == name => Some(3),
        NameKind::Title if candidate.folded == folded => Some(6),
        NameKind::Alias if candidate.folded == folded => Some(7),
        _ => None,
    }
}

/// How well the path of a candidate's file fits: all of it, or its end.
fn path_fit(candidate: &Candidate, path: &str, folded: &str) -> Option<u8> {
    if candidate.kind != NameKind::Path {
        return None;
    }
    // A bare name asks for no folder, so one at the top is no better than another.
    let is_whole = path.contains('/');
    if ends_with_path(&candidate.name, path) {
        return Some(u8::from(!(is_whole && candidate.name == path)));
    }
    ends_with_path(&candidate.folded, folded).then(|| if is_whole && candidate.folded == folded { 4 } else { 5 })
}

fn ends_with_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Bear's links: the whole target is a title, or its part before a `/`, the longest first.
fn by_title<'c>(target: &str, candidates: &'c [Candidate], place: &Place) -> Vec<&'c Candidate> {
    let titles = || candidates.iter().filter(|candidate| candidate.kind == NameKind::BearTitle);
    let ends = std::iter::once(target.len()).chain(target.rmatch_indices('/').map(|(at, _)| at));
    for end in ends {
        let title = target[..end].trim();
        let folded = fold(title);
        let fit = |candidate: &Candidate| match candidate {
            _ if title.is_empty() => None,
            candidate if candidate.name == title => Some(0),
            candidate => (candidate.folded == folded).then_some(1),
        };
        // A note links within its library; from elsewhere, Bear's address may mean any.
        let mut found = best(titles().filter(|candidate| candidate.source_id == place.source_id), fit);
        if found.is_empty() {
            found = best(titles(), fit);
        }
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// A path seen from the file that holds the link, or from the top when it begins with `/`. Programs that write the shortest
/// path mean any file whose path ends so.
fn by_path<'c>(target: &str, place: &Place, candidates: &'c [Candidate]) -> Vec<&'c Candidate> {
    let here: Vec<&Candidate> = candidates
        .iter()
        .filter(|candidate| candidate.source_id == place.source_id && candidate.kind == NameKind::Path)
        .collect();
    let target = without_ending(target);
    let Some(path) = joined(&place.folder, target) else { return Vec::new() };
    let folded = fold(&path);
    let exact = best(here.iter().copied(), |candidate| match candidate {
        candidate if candidate.name == path => Some(0),
        candidate => (candidate.folded == folded).then_some(1),
    });
    if !exact.is_empty() || target.starts_with('.') {
        return exact;
    }
    let target = target.trim_start_matches('/');
    let folded = fold(target);
    nearest(best(here.into_iter(), |candidate| path_fit(candidate, target, &folded)), place)
}

/// `relative` seen from `folder`; `None` when it leads above the top.
fn joined(folder: &str, relative: &str) -> Option<String> {
    let base = if relative.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(relative.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Of candidates that are files, those in the nearest folder; others have no folder and stay.
fn nearest<'c>(candidates: Vec<&'c Candidate>, place: &Place) -> Vec<&'c Candidate> {
    if candidates.len() < 2 || candidates.iter().any(|candidate| candidate.kind != NameKind::Path) {
        return candidates;
    }
    let steps = |candidate: &Candidate| {
        let folder = candidate.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let parts = |folder: &str| folder.split('/').filter(|part| !part.is_empty()).count();
        let shared =
            folder.split('/').zip(place.folder.split('/')).take_while(|(a, b)| a == b && !a.is_empty()).count();
        parts(folder) + parts(&place.folder) - 2 * shared
    };
    let least = candidates.iter().map(|candidate| steps(candidate)).min();
    candidates.into_iter().filter(|candidate| Some(steps(candidate)) == least).collect()
}

/// `text` composed (NFC): a name typed on one system and stored by another is the same name.
fn composed(text: &str) -> String {
    if is_nfc_quick(text.chars()) == IsNormalized::Yes { text.to_owned() } else { text.nfc().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes in folders, by path, each with its title; ids count from 1.
    fn files(paths: &[(&str, &str)]) -> Vec<Candidate> {
        let names = |(at, (path, title)): (usize, &(&str, &str))| {
            let id = at as i64 + 1;
            [
                Candidate::new(id, 1, NameKind::Path, without_ending(path).to_owned()),
                Candidate::new(id, 1, NameKind::Title, (*title).to_owned()),
            ]
        };
        paths.iter().enumerate().flat_map(names).collect()
    }

    fn from(id: &str) -> Place {
        Place::new(1, id.to_owned())
    }

    fn name(target: &str, place: &str, candidates: &[Candidate]) -> Vec<i64> {
        resolve(LinkKind::Name, target, "", &from(place), candidates, &[])
    }

    #[test]
    fn a_name_means_a_path_before_a_title_and_both_before_another_case() {
        let notes = files(&[("x/Tea.md", "Leaves"), ("y/other.md", "Tea"), ("z/tea.md", "")]);
        assert_eq!(name("Tea", "x/a.md", &notes), [1]);
        assert_eq!(name("tea", "x/a.md", &notes), [3]);
        assert_eq!(name("Leaves", "a.md", &notes), [1]);
        assert_eq!(name("leaves", "a.md", &notes), [1]);
        assert_eq!(name("nothing", "a.md", &notes), [0; 0]);
        let titles = files(&[("y/other.md", "Tea"), ("z/more.md", "tea")]);
        assert_eq!(name("Tea", "a.md", &titles), [1]);
        assert_eq!(name("TEA", "a.md", &titles), [1, 2], "no better one: both");
    }

    #[test]
    fn an_alias_comes_after_titles() {
        let mut notes = files(&[("a.md", "One")]);
        notes.push(Candidate::new(2, 1, NameKind::Alias, "One".to_owned()));
        notes.push(Candidate::new(3, 1, NameKind::Alias, "Uno".to_owned()));
        assert_eq!(name("One", "x.md", &notes), [1]);
        assert_eq!(name("Uno", "x.md", &notes), [3]);
        assert_eq!(name("UNO", "x.md", &notes), [3]);
    }

    #[test]
    fn of_files_with_one_name_the_nearest_is_meant_and_else_all() {
        let notes = files(&[("a/index.md", ""), ("b/index.md", ""), ("b/deep/index.md", "")]);
        assert_eq!(name("index", "a/x.md", &notes), [1]);
        assert_eq!(name("index", "b/deep/x.md", &notes), [3]);
        assert_eq!(name("index", "x.md", &notes), [1, 2]);
        assert_eq!(name("b/index", "a/x.md", &notes), [2]);
        assert_eq!(name("deep/index", "a/x.md", &notes), [3]);
        assert_eq!(name("c/index", "a/x.md", &notes), [0; 0]);
        assert_eq!(name("../a/index", "b/x.md", &notes), [1]);
        assert_eq!(name("a/index.md", "b/x.md", &notes), [1]);
    }

    #[test]
    fn composition_never_decides() {
        let notes = files(&[("Cafe\u{301}.md", "")]);
        assert_eq!(name("Café", "x.md", &notes), [1]);
        let twins = files(&[("Cafe\u{301}.md", ""), ("Café.md", "")]);
        assert_eq!(name("Café", "x.md", &twins), [1, 2]);
    }

    #[test]
    fn a_path_is_seen_from_its_own_folder() {
        let notes = files(&[("a/note.md", ""), ("note.md", ""), ("b/My Note.md", "")]);
        let path = |target: &str, place: &str| resolve(LinkKind::Path, target, "", &from(place), &notes, &[]);
        assert_eq!(path("note.md", "a/x.md"), [1]);
        assert_eq!(path("note.md", "x.md"), [2]);
        assert_eq!(path("../note.md", "a/x.md"), [2]);
        assert_eq!(path("/a/note", "b/x.md"), [1]);
        assert_eq!(path("my note.md", "b/x.md"), [3]);
        assert_eq!(path("../../note.md", "a/x.md"), [0; 0], "above the top there is nothing");
        assert_eq!(path("./missing.md", "a/x.md"), [0; 0]);
        assert_eq!(path("My Note.md", "a/x.md"), [3], "the shortest path, as Obsidian writes it");
    }

    #[test]
    fn titles_of_bear_may_hold_slashes_and_twins_are_all_meant() {
        let titled = |id, title: &str| Candidate::new(id, 1, NameKind::BearTitle, title.to_owned());
        let notes = [titled(1, "TCP/IP"), titled(2, "TCP"), titled(3, "Same"), titled(4, "Same"), titled(5, "same")];
        let title = |target: &str| resolve(LinkKind::Title, target, "", &from("ID"), &notes, &[]);
        assert_eq!(title("TCP/IP"), [1]);
        assert_eq!(title("TCP/IP/Layers"), [1]);
        assert_eq!(title("tcp/Ports/Known"), [2]);
        assert_eq!(title("Same"), [3, 4]);
        assert_eq!(title("SAME"), [3, 4, 5]);
        assert_eq!(title("/"), [0; 0]);
    }

    #[test]
    fn identifiers_and_vaults_lead_to_other_sources() {
        let notes = [
            Candidate::new(7, 2, NameKind::Id, "AB-1".to_owned()),
            Candidate::new(8, 3, NameKind::Path, "sub/note".to_owned()),
            Candidate::new(9, 4, NameKind::Path, "sub/note".to_owned()),
        ];
        let link = |kind, target: &str| {
            resolve(kind, target, "", &from("x.md"), &notes, &[(3, "work".to_owned()), (4, "home".to_owned())])
        };
        assert_eq!(link(LinkKind::Id, "ab-1"), [7]);
        assert_eq!(link(LinkKind::Vault, "Work/sub/note"), [8]);
        assert_eq!(link(LinkKind::Vault, "Home/note.md"), [9]);
        assert_eq!(link(LinkKind::Vault, "Other/note"), [0; 0]);
        assert_eq!(link(LinkKind::Name, "note"), [0; 0], "a name stays within its source");
    }

    #[test]
    fn a_hash_may_belong_to_a_title() {
        let notes = files(&[("x.md", "C# notes")]);
        let link = |target: &str, heading: &str| resolve(LinkKind::Name, target, heading, &from("a.md"), &notes, &[]);
        assert_eq!(link("C", "notes"), [1]);
        assert_eq!(link("C", "other"), [0; 0]);
    }
}
