//! A text of Markdown on its way to a document: what its front matter and its markup say, put together. What a file's
//! surroundings add to it (its name, dates, flags) is the business of whoever found the file.

use super::front_matter::{self, FrontMatter};
use super::markup::{self, Dialect, Link, Tasks};
use super::{Attachment, ChangeMark, Document, tags};

/// Everything that a text says of its note.
pub struct Parsed {
    /// The title of the front matter, or of a Logseq page's properties.
    pub title: Option<String>,
    /// As typed, without `#`; those of the front matter first, no tag twice.
    pub tags: Vec<String>,
    /// Other names of the note.
    pub aliases: Vec<String>,
    /// Milliseconds since 1970 UTC.
    pub created_at_ms: Option<i64>,
    /// Milliseconds since 1970 UTC.
    pub updated_at_ms: Option<i64>,
    properties: Vec<(String, String)>,
    links: Vec<Link>,
    tasks: Tasks,
    files: Vec<String>,
}

impl Parsed {
    /// Reads `text`.
    pub fn read(text: &str, dialect: Dialect) -> Self {
        let body = front_matter::end(text);
        let mut front = front_matter::read(text);
        let markup = markup::read(text, body, dialect);
        if dialect == Dialect::Logseq {
            front.add_page(&markup.properties[..markup.page_properties]);
        }
        let FrontMatter { title, aliases, mut tags, created_at_ms, updated_at_ms, mut properties } = front;
        markup.tags.into_iter().for_each(|tag| tags::add(&mut tags, tag));
        properties.extend(markup.properties);
        let mut links = markup::links_in_front_matter(&text[..body]);
        links.extend(markup.links);
        let (tasks, files) = (markup.tasks, markup.files);
        Self { title, tags, aliases, created_at_ms, updated_at_ms, properties, links, tasks, files }
    }

    /// The document of `text`, without flags or a URL.
    pub fn into_document(self, id: &str, mark: ChangeMark, title: String, text: String) -> Document {
        Document {
            id: id.to_owned(),
            mark,
            title,
            text,
            tags: self.tags,
            aliases: self.aliases,
            properties: self.properties,
            links: self.links,
            tasks: self.tasks,
            attachments: self.files.into_iter().map(|name| Attachment { name, text: String::new() }).collect(),
            created_at_ms: self.created_at_ms,
            updated_at_ms: self.updated_at_ms,
            ..Document::default()
        }
    }
}
