//! A backup that Bear wrote (`.bearbk`, `.bear2bk`): a zip file with one TextBundle per note.
//!
//! Nothing of it is ever unpacked to a disk, so names in it can lead nowhere.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::bundle::{self, Info};
use super::tags::Exclusion;
use super::{Batch, ChangeMark, Entry, Listing, Skipped, Source, SourceOptions, decode, percent};
use crate::error::{Error, Result};

const KIND: &str = "Bear backup";
/// A longer text is hardly a note, and a small zip file may claim to hold any length.
const MAX_BYTES: u64 = 64 << 20;
/// Marks of another layout of these bytes must differ.
const MARK_VERSION: u8 = 1;

/// A backup.
pub struct BackupSource {
    path: PathBuf,
    archive: ZipArchive<File>,
    exclusion: Exclusion,
    index_locked_titles: bool,
    /// By id, from the latest listing.
    notes: HashMap<String, Note>,
}

/// A note in the archive.
struct Note {
    /// Name of the bundle without its ending.
    name: String,
    mark: ChangeMark,
    text: usize,
    info: Info,
}

/// Where a bundle's two files are in the archive.
#[derive(Default)]
struct Found {
    text: Option<usize>,
    info: Option<usize>,
}

impl BackupSource {
    /// Opens the backup at `path`.
    ///
    /// # Errors
    /// [`Error::SourceMissing`], [`Error::SourceDenied`], and [`Error::SourceMalformed`] for what is no zip file.
    pub fn open(path: &Path, options: SourceOptions) -> Result<Self> {
        let file = File::open(path).map_err(|error| refusal(path, &error))?;
        let archive = ZipArchive::new(file).map_err(|error| malformed(path, &error.to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            archive,
            exclusion: Exclusion::new(&options.exclude_tags),
            index_locked_titles: options.index_locked_titles,
            notes: HashMap::new(),
        })
    }

    /// The bundles, by their path in the archive.
    fn bundles(&self) -> BTreeMap<String, Found> {
        let mut bundles: BTreeMap<String, Found> = BTreeMap::new();
        for (place, name) in (0..self.archive.len()).filter_map(|at| Some((at, self.archive.name_for_index(at)?.ok()?)))
        {
            let Some((folder, file)) = name.rsplit_once('/') else { continue };
            if !bundle::is_bundle(folder.rsplit('/').next().unwrap_or_default()) {
                continue;
            }
            let found = bundles.entry(folder.to_owned()).or_default();
            if bundle::is_text(file) {
                found.text.get_or_insert(place);
            } else if file == bundle::INFO {
                found.info = Some(place);
            }
        }
        bundles
    }

    /// The bytes of one file in the archive, and what tells whether it changed.
    fn file(&mut self, place: usize) -> std::result::Result<(Vec<u8>, u32), String> {
        let said = |error: &dyn std::fmt::Display| format!("cannot be read: {error}");
        let file = self.archive.by_index(place).map_err(|error| said(&error))?;
        let crc = file.crc32();
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| said(&error))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(format!("has more than {} MiB, which are not read", MAX_BYTES >> 20));
        }
        Ok((bytes, crc))
    }

    /// A note's entry in the listing, `None` when it is trashed or locked and unwanted.
    fn note(&mut self, folder: &str, found: &Found) -> std::result::Result<Option<(String, Note)>, String> {
        let text = found.text.ok_or("has no text")?;
        let (info, info_crc) = match found.info {
            Some(place) => self.file(place)?,
            None => (Vec::new(), 0),
        };
        let info = Info::read(&info);
        if info.trashed || (info.encrypted && !self.index_locked_titles) {
            return Ok(None);
        }
        let (crc, size) = {
            let file = self.archive.by_index_raw(text).map_err(|error| format!("cannot be read: {error}"))?;
            (file.crc32(), file.size())
        };
        let mut mark = vec![MARK_VERSION];
        mark.extend_from_slice(&crc.to_le_bytes());
        mark.extend_from_slice(&size.to_le_bytes());
        mark.extend_from_slice(&info_crc.to_le_bytes());
        let name = folder.rsplit('/').next().and_then(bundle::stem).unwrap_or_default().to_owned();
        let id = info.identifier.clone().unwrap_or_else(|| folder.to_owned());
        Ok(Some((id, Note { name, mark: ChangeMark(mark.into_boxed_slice()), text, info })))
    }
}

impl Source for BackupSource {
    fn list(&mut self) -> Result<Listing> {
        let mut listing = Listing::default();
        self.notes.clear();
        for (folder, found) in self.bundles() {
            match self.note(&folder, &found) {
                Ok(None) => {}
                Ok(Some((id, note))) => {
                    // Of two notes with one identifier the second keeps the name of its bundle.
                    let id = if self.notes.contains_key(&id) { folder } else { id };
                    listing.entries.push(Entry { id: id.clone(), mark: note.mark.clone() });
                    self.notes.insert(id, note);
                }
                Err(reason) => listing.skipped.push(Skipped { id: folder, reason }),
            }
        }
        if listing.entries.is_empty() && listing.skipped.is_empty() && !self.archive.is_empty() {
            return Err(malformed(&self.path, "it is a zip file without a TextBundle"));
        }
        Ok(listing)
    }

    fn read(&mut self, ids: &[String]) -> Result<Batch> {
        let mut batch = Batch::default();
        for id in ids {
            let Some(note) = self.notes.get(id) else { continue };
            let (text, name, mark, info) = (note.text, note.name.clone(), note.mark.clone(), note.info.clone());
            match self.file(text) {
                Ok((bytes, _)) => {
                    let document = bundle::document(id, &name, mark, decode::text(bytes), &info, &self.exclusion);
                    batch.documents.extend(document.map(|mut document| {
                        let id = info.identifier.as_deref().filter(|identifier| identifier == id);
                        document.url =
                            id.map(|id| format!("bear://x-callback-url/open-note?id={}", percent::component(id)));
                        document
                    }));
                }
                Err(reason) => batch.skipped.push(Skipped { id: id.clone(), reason }),
            }
        }
        Ok(batch)
    }
}

fn malformed(path: &Path, detail: &str) -> Error {
    let detail = format!("{detail}; name a file that Bear wrote with \"Back up notes\"");
    Error::SourceMalformed { kind: KIND, path: path.to_owned(), detail }
}

fn refusal(path: &Path, error: &io::Error) -> Error {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::SourceMissing {
            kind: KIND,
            path,
            advice: "name an existing file, or remove it from the sources".to_owned(),
        },
        io::ErrorKind::PermissionDenied => {
            Error::SourceDenied { path, advice: "check the permissions of the file".to_owned() }
        }
        kind => Error::io(path, kind.into()),
    }
}
