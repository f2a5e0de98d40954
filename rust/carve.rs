//! Vectors out of a damaged index, page by page and without its trees: a broken page costs its own rows and no others.
//!
//! Follows SQLite's file format (<https://www.sqlite.org/fileformat2.html>, sections 1.6 and 2.1). Only rows that say
//! themselves what they are: the hash of a text, a source, a model, a vector of a model's width and of unit length. A vector that is
//! found for a hash which no text has is of no use and of no harm; text ids are never used twice, so a vector and a hash
//! with the same id belong together whenever they were written. Whose file it is and what becomes of it is `recover`'s work.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{Read, Seek, SeekFrom},
};

use crate::{
    page_sum::{self, HEADER_BYTES, PAGE_BYTES, SUM_BYTES},
    schema,
    source::SourceKind,
};

const TABLE_LEAF: u8 = 0x0d;
const TABLE_INTERIOR: u8 = 0x05;
const INDEX_LEAF: u8 = 0x0a;
const INDEX_INTERIOR: u8 = 0x02;

/// Longest chain of overflow pages that is followed; far more than the widest vector needs.
const MAX_OVERFLOW: usize = 64;

/// A model as its row describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarvedModel {
    /// What the caller called it.
    pub name: String,
    /// Covers everything that changes a vector.
    pub fingerprint: String,
    /// Width of its vectors.
    pub dim: usize,
    /// Whether searches used it.
    pub live: bool,
}

/// A source as its row describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarvedSource {
    /// Word for its kind.
    pub kind: String,
    /// Its path.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Whether it belongs to every call.
    pub registered: bool,
}

/// A damaged file, and what was found in its small rows.
pub struct Carving {
    pages: Pages,
    models: HashMap<i64, CarvedModel>,
    sources: HashMap<i64, CarvedSource>,
    /// None where two rows disagree.
    hashes: HashMap<i64, Option<[u8; 16]>>,
    /// Model by leaf page, as far as the trees of the vector tables can be followed.
    owners: HashMap<u32, i64>,
}

impl Carving {
    /// Looks through all pages of `file`.
    ///
    /// # Errors
    /// The system's, when the file cannot be read at all.
    pub fn new(file: File) -> std::io::Result<Self> {
        let pages = Pages::new(file)?;
        let mut carving = Self {
            pages,
            models: HashMap::new(),
            sources: HashMap::new(),
            hashes: HashMap::new(),
            owners: HashMap::new(),
        };
        let mut roots = Vec::new();
        for number in 1..=carving.pages.count {
            let Some(page) = carving.pages.read(number) else { continue };
            for cell in page.cells() {
                let Some(values) = carving.pages.record(&page, &cell) else { continue };
                carving.take(cell.rowid, &values, &mut roots);
            }
        }
        for (model, root) in roots {
            carving.follow(model, root);
        }
        Ok(carving)
    }

    /// The models that were found, with their row ids: the live one first.
    pub fn models(&self) -> Vec<(i64, CarvedModel)> {
        let mut models: Vec<_> = self.models.iter().map(|(id, model)| (*id, model.clone())).collect();
        models.sort_by_key(|(id, model)| (!model.live, *id));
        models
    }

    /// The sources that were found, in the order in which they were added.
    pub fn sources(&self) -> Vec<CarvedSource> {
        let mut sources: Vec<_> = self.sources.iter().collect();
        sources.sort_by_key(|(id, _)| **id);
        sources.into_iter().map(|(_, source)| source.clone()).collect()
    }

    /// Calls `each` with every vector of `model` whose text is known: the text's hash, and the vector's bytes.
    ///
    /// # Errors
    /// What `each` returns; nothing else is called after that.
    pub fn vectors<E>(&mut self, model: i64, mut each: impl FnMut([u8; 16], &[u8]) -> Result<(), E>) -> Result<(), E> {
        let Some(dim) = self.models.get(&model).map(|model| model.dim) else { return Ok(()) };
        let alone = self.models.values().filter(|other| other.dim == dim).count() == 1;
        for number in 1..=self.pages.count {
            let owned = self.owners.get(&number).map_or(alone, |owner| *owner == model);
            let Some(page) = self.pages.read(number).filter(|page| owned && page.kind() == TABLE_LEAF) else {
                continue;
            };
            for cell in page.cells() {
                let Some(hash) = self.hashes.get(&cell.rowid).copied().flatten() else { continue };
                let values = self.pages.record(&page, &cell);
                let Some([Value::Null, Value::Blob(vector)]) = values.as_deref() else { continue };
                if is_unit(vector, dim) {
                    each(hash, vector)?;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, rowid: i64, values: &[Value], roots: &mut Vec<(i64, u32)>) {
        let (id, hash) = match values {
            [Value::Null, Value::Blob(hash)] => (rowid, hash),
            // The same in the index that keeps hashes unique.
            [Value::Blob(hash), Value::Integer(id)] => (*id, hash),
            [
                Value::Null,
                Value::Text(name),
                Value::Text(fingerprint),
                Value::Integer(dim),
                Value::Integer(live @ 0..=1),
            ] => {
                let dim = usize::try_from(*dim).unwrap_or(0);
                if (1..=1 << 16).contains(&dim) {
                    let (name, fingerprint) = (name.clone(), fingerprint.clone());
                    self.models.insert(rowid, CarvedModel { name, fingerprint, dim, live: *live == 1 });
                }
                return;
            }
            [
                Value::Null,
                Value::Text(kind),
                Value::Text(path),
                Value::Text(name),
                Value::Integer(registered @ 0..=1),
                ..,
            ] if SourceKind::from_word(kind).is_some() => {
                let (kind, path, name) = (kind.clone(), path.clone(), name.clone());
                self.sources.insert(rowid, CarvedSource { kind, path, name, registered: *registered == 1 });
                return;
            }
            [Value::Text(kind), Value::Text(name), Value::Text(_), Value::Integer(root), Value::Text(_)]
                if kind == "table" =>
            {
                let model = name.strip_prefix(schema::EMBEDDINGS_PREFIX).and_then(|id| id.parse().ok());
                if let (Some(model), Ok(root)) = (model, u32::try_from(*root)) {
                    roots.push((model, root));
                }
                return;
            }
            _ => return,
        };
        if let Ok(hash) = <[u8; 16]>::try_from(hash.as_slice()) {
            let known = self.hashes.entry(id).or_insert(Some(hash));
            if *known != Some(hash) {
                *known = None;
            }
        }
    }

    /// Notes for all leaves that can be reached from `root` that they are `model`'s.
    fn follow(&mut self, model: i64, root: u32) {
        let mut waiting = vec![root];
        let mut seen = HashSet::new();
        while let Some(number) = waiting.pop() {
            if !seen.insert(number) {
                continue;
            }
            let Some(page) = self.pages.read(number) else { continue };
            match page.kind() {
                TABLE_LEAF => drop(self.owners.insert(number, model)),
                TABLE_INTERIOR => waiting.extend(page.children()),
                _ => {}
            }
        }
    }
}

/// One value of a row; numbers with a fraction are of no interest here.
#[derive(Debug, PartialEq)]
enum Value {
    Null,
    Integer(i64),
    Text(String),
    Blob(Vec<u8>),
}

/// Where a row begins in its page.
struct Cell {
    /// 0 in an index, whose rows have none.
    rowid: i64,
    payload_bytes: usize,
    /// Place of the payload in the page.
    at: usize,
}

/// The pages that hold what was written to them.
struct Pages {
    file: File,
    count: u32,
    checked: bool,
    usable: usize,
}

impl Pages {
    fn new(mut file: File) -> std::io::Result<Self> {
        let count = u32::try_from(file.metadata()?.len() / PAGE_BYTES as u64).unwrap_or(u32::MAX);
        let mut header = [0; HEADER_BYTES];
        // A file without a readable header is one of today's: older ones are rarer than broken ones.
        let checked =
            file.read_exact(&mut header).is_err() || !page_sum::is_ours(&header) || page_sum::is_checked(&header);
        let usable = PAGE_BYTES - if checked { SUM_BYTES } else { 0 };
        Ok(Self { file, count, checked, usable })
    }

    /// Page `number`, from 1; None when it cannot be read or is damaged.
    fn read(&mut self, number: u32) -> Option<Page> {
        let index = u64::from(number.checked_sub(1)?);
        let mut bytes = Box::new([0; PAGE_BYTES]);
        self.file.seek(SeekFrom::Start(index * PAGE_BYTES as u64)).ok()?;
        self.file.read_exact(bytes.as_mut_slice()).ok()?;
        (!self.checked || page_sum::holds(&bytes, index)).then_some(Page { bytes, number, usable: self.usable })
    }

    /// The values of a row; None when its bytes are no row.
    fn record(&mut self, page: &Page, cell: &Cell) -> Option<Vec<Value>> {
        let payload = self.payload(page, cell)?;
        let (header_bytes, mut at) = varint(&payload, 0)?;
        let header_bytes = usize::try_from(header_bytes).ok()?;
        let mut body = header_bytes;
        let mut values = Vec::new();
        while at < header_bytes {
            let (kind, next) = varint(&payload, at)?;
            at = next;
            let bytes = match kind {
                0 | 8 | 9 => 0,
                1..=4 => kind as usize,
                5 => 6,
                6 | 7 => 8,
                12.. => usize::try_from((kind - 12) / 2).ok()?,
                _ => return None,
            };
            let content = payload.get(body..body.checked_add(bytes)?)?;
            body += bytes;
            values.push(match kind {
                0 | 7 => Value::Null,
                8 => Value::Integer(0),
                9 => Value::Integer(1),
                1..=6 => Value::Integer(integer(content)),
                _ if kind % 2 == 0 => Value::Blob(content.to_vec()),
                _ => Value::Text(String::from_utf8(content.to_vec()).ok()?),
            });
        }
        (body == payload.len()).then_some(values)
    }

    fn payload(&mut self, page: &Page, cell: &Cell) -> Option<Vec<u8>> {
        let usable = self.usable;
        let is_table = page.kind() == TABLE_LEAF;
        let most = if is_table { usable - 35 } else { (usable - 12) * 64 / 255 - 23 };
        if cell.payload_bytes <= most {
            return Some(page.bytes.get(cell.at..cell.at + cell.payload_bytes)?.to_vec());
        }
        if cell.payload_bytes > MAX_OVERFLOW * usable {
            return None;
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let spread = least + (cell.payload_bytes - least) % (usable - 4);
        let local = if spread <= most { spread } else { least };
        let mut payload = page.bytes.get(cell.at..cell.at + local)?.to_vec();
        let mut next = u32_at(&page.bytes[..], cell.at + local)?;
        while payload.len() < cell.payload_bytes {
            let overflow = self.read(next)?;
            next = u32_at(&overflow.bytes[..], 0)?;
            let part = (cell.payload_bytes - payload.len()).min(usable - 4);
            payload.extend_from_slice(overflow.bytes.get(4..4 + part)?);
        }
        Some(payload)
    }
}

struct Page {
    bytes: Box<[u8; PAGE_BYTES]>,
    number: u32,
    usable: usize,
}

impl Page {
    /// Where the page's own header begins: behind the file's, in the first page.
    fn start(&self) -> usize {
        if self.number == 1 { HEADER_BYTES } else { 0 }
    }

    fn kind(&self) -> u8 {
        self.bytes[self.start()]
    }

    fn pointers(&self) -> impl Iterator<Item = usize> {
        let header = if matches!(self.kind(), TABLE_INTERIOR | INDEX_INTERIOR) { 12 } else { 8 };
        let first = self.start() + header;
        let count = u16_at(&self.bytes[..], self.start() + 3).unwrap_or(0);
        (0..count).map_while(move |i| u16_at(&self.bytes[..], first + 2 * i))
    }

    /// The rows of a table's leaf or of an index.
    fn cells(&self) -> Vec<Cell> {
        let bytes = &self.bytes[..self.usable];
        let cell = |at: usize| {
            let at = if self.kind() == INDEX_INTERIOR { at + 4 } else { at };
            let (payload_bytes, at) = varint(bytes, at)?;
            let (rowid, at) = if self.kind() == TABLE_LEAF { varint(bytes, at)? } else { (0, at) };
            Some(Cell { rowid, payload_bytes: usize::try_from(payload_bytes).ok()?, at })
        };
        match self.kind() {
            TABLE_LEAF | INDEX_LEAF | INDEX_INTERIOR => self.pointers().filter_map(cell).collect(),
            _ => Vec::new(),
        }
    }

    /// The pages below an inner page of a table.
    fn children(&self) -> Vec<u32> {
        let last = u32_at(&self.bytes[..], self.start() + 8);
        self.pointers().filter_map(|at| u32_at(&self.bytes[..], at)).chain(last).collect()
    }
}

/// A vector that was torn has another length; one that was overwritten is hardly ever a unit vector.
pub fn is_unit(bytes: &[u8], dim: usize) -> bool {
    let (values, rest) = bytes.as_chunks::<4>();
    let square = |value: &[u8; 4]| f64::from(f32::from_le_bytes(*value)).powi(2);
    values.len() == dim && rest.is_empty() && (values.iter().map(square).sum::<f64>() - 1.0).abs() < 1e-3
}

/// SQLite's number of one to nine bytes at `at`, and the place behind it.
fn varint(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let mut value: u64 = 0;
    for i in 0..8 {
        let byte = *bytes.get(at + i)?;
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value.cast_signed(), at + i + 1));
        }
    }
    Some(((value << 8 | u64::from(*bytes.get(at + 8)?)).cast_signed(), at + 9))
}

/// Big-endian, two's complement, one to eight bytes.
fn integer(bytes: &[u8]) -> i64 {
    let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    bytes.iter().fold(if negative { -1 } else { 0 }, |value, byte| value << 8 | i64::from(*byte))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..at + 2).map(|b| usize::from(u16::from_be_bytes([b[0], b[1]])))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_read_as_sqlite_writes_them() {
        assert_eq!(varint(&[0x05], 0), Some((5, 1)));
        assert_eq!(varint(&[0x81, 0x00], 0), Some((128, 2)));
        assert_eq!(varint(&[0xff; 9], 0), Some((-1, 9)));
        assert_eq!(varint(&[0x81], 0), None);
        assert_eq!(integer(&[0xff, 0xfe]), -2);
        assert_eq!(integer(&[0x00, 0x80]), 128);
    }

    proptest! {
        #[test]
        fn pages_of_any_bytes_are_looked_through_without_a_panic(seed: u64, kind in 0..4_usize, cells: u16) {
            let mut bytes = Box::new([0_u8; PAGE_BYTES]);
            let mut state = seed | 1;
            for byte in bytes.iter_mut() {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                *byte = state as u8;
            }
            bytes[0] = [TABLE_LEAF, TABLE_INTERIOR, INDEX_LEAF, INDEX_INTERIOR][kind];
            bytes[3..5].copy_from_slice(&cells.to_be_bytes());
            let page = Page { bytes, number: 2, usable: PAGE_BYTES - SUM_BYTES };
            let file = tempfile::tempfile().unwrap();
            let mut pages = Pages::new(file).unwrap();
            for cell in page.cells() {
                let _ = pages.record(&page, &cell);
            }
            let _ = page.children();
        }
    }
}
