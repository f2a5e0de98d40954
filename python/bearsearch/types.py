"""The values that the service returns: frozen, plain, and the same for command line, agents and programs.

Nothing here computes. `bearsearch.render` turns these into text, JSON and XML with the field names as keys.
Dates are aware `datetime` objects in UTC; JSON shows them as ISO 8601 with a `Z`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

__all__ = [
    "BackgroundStatus",
    "BrokenLink",
    "BrokenLinks",
    "Check",
    "Correction",
    "CreatedNote",
    "Document",
    "EmbedReport",
    "Examination",
    "Explanation",
    "GetResult",
    "Hit",
    "HitExplanation",
    "Hub",
    "Hubs",
    "IndexState",
    "IndexStatus",
    "Leg",
    "LinkHop",
    "Links",
    "ListResult",
    "MapNote",
    "Note",
    "NoteMap",
    "NoteSummary",
    "Passage",
    "Progress",
    "QueryWord",
    "SearchResult",
    "SettingValue",
    "SourceEntry",
    "SourceReport",
    "SourceStatus",
    "SyncReport",
    "Tag",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document that a program hands over to be indexed."""

    id: str
    """Unique among the documents handed over together."""
    title: str
    text: str
    """Markdown or plain text."""
    tags: tuple[str, ...] = ()
    """Whole paths, such as `work/projects`, without `#`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a long step is."""

    stage: str
    """What is being done: indexing or embedding."""
    done: int
    total: int
    per_second: float | None
    """Things done per second so far; None at the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """What one retriever did for a query."""

    ran: bool
    """Whether it was asked at all."""
    hits: int
    """Notes it found, before fusion and limit."""
    reason: str | None
    """Why it did not run, as a clause; None when it ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """How complete the index was when a query was answered."""

    documents: int
    """Notes that the query could reach; archived and hidden ones do not count."""
    chunks: int
    pending: int
    """Distinct texts that still wait for an embedding of the current model."""
    stale: bool
    """True when a source could not be compared, so the answer may be older than the notes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What was searched in place of a word that no note holds."""

    typed: str
    """The word, folded."""
    searched: tuple[str, ...]
    """Words that it may be a misspelling of, the likeliest first; or its beginning, as `typed*`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWord:
    """A word of a query, and how common it is."""

    word: str
    """The word, folded."""
    documents: int
    """Notes that hold it or another form of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How a query was read and answered."""

    understood: tuple[str, ...]
    """A sentence for each query: what it was taken to ask for."""
    fusion: str
    """How the legs' lists became one: share or rrf."""
    words: tuple[QueryWord, ...]
    """The words that were looked for."""
    elapsed_ms: Mapping[str, float]
    """Time by step: freshness, embedding, text, vector, fusion, evidence. The legs run side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk of a note beside the best one."""

    heading: str
    """Heading path, joined by " > "; empty at the top of a note."""
    lines: tuple[int, int]
    """First and last line in the note's text, from 1, inclusive."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HitExplanation:
    """Why a note stands where it does."""

    text_share: float | None
    """How much of what the query's words could give the note holds, in [0, 1]."""
    vector_share: float | None
    """Its nearness in meaning as a share of what is possible, in [0, 1]."""
    words: tuple[str, ...]
    """Words of the query that its best passage holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One note that a search found, with its best passage."""

    rank: int
    """Place in the list, from 1."""
    place: int
    """The same counted with the copies that are not shown; where a cursor goes on."""
    id: str
    """The source's own id: pass it to `get`."""
    title: str
    source: str
    """Name of the source."""
    url: str | None
    """Opens the note in its own program."""
    tags: tuple[str, ...]
    updated_at: datetime | None
    archived: bool
    locked: bool
    score: float
    """What the notes are ordered by; higher is better, comparable within this result only."""
    confidence: float | None
    """How likely the note is an answer, in [0, 1]; None when nothing calibrated says so."""
    text_rank: int | None
    """Place in the text leg's list, from 1; None when that leg did not find the note."""
    vector_rank: int | None
    """Place in the vector leg's list, from 1; None when that leg did not find the note."""
    bm25: float | None
    """The text leg's score, higher is better."""
    cosine: float | None
    """Cosine of query and best chunk, in [-1, 1]."""
    heading: str
    """Heading path of the best chunk, joined by " > "; empty at the top of a note."""
    lines: tuple[int, int]
    """First and last line of the best chunk in the note's text, from 1, inclusive."""
    line_hits: tuple[int, ...]
    """The first 20 lines that hold a word of the query, from 1."""
    total_hits: int
    """How many lines hold a word of the query."""
    snippet: str
    """An excerpt of the best chunk; empty for locked notes."""
    highlights: tuple[tuple[int, int], ...] = ()
    """Character ranges of `snippet` that match, half-open, in order."""
    passage: str | None = None
    """The whole best chunk; None unless a number of tokens to fill was given."""
    context: tuple[Passage, ...] = ()
    """Chunks before and behind the best one, as many as were asked for."""
    duplicates: tuple[str, ...] = ()
    """Ids of notes that say nearly the same, stood further down and are not shown."""
    explanation: HitExplanation | None = None
    """Why it stands here; None unless asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The answer to one query, best note first."""

    query: str
    mode: str
    """The mode that ran."""
    requested_mode: str
    good_match: bool
    """False when no note deserves to be called a hit; `hits` is empty then."""
    legs: Mapping[str, Leg]
    """By name: text, vector, typo, like; and rerank, where it was asked for."""
    index: IndexState
    total: int
    """Notes found before `limit`."""
    hits: tuple[Hit, ...]
    corrections: tuple[Correction, ...] = ()
    """What was searched in place of words that no note holds."""
    cursor: str | None = None
    """Pass it to the same search to go on behind the last hit; None when nothing comes behind."""
    explanation: Explanation | None = None
    """How the query was read and answered; None unless asked for."""
    notices: tuple[str, ...] = ()
    """Sentences for a person: what waits, what is stale, which leg did not run and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSummary:
    """One note without its text."""

    id: str
    title: str
    source: str
    url: str | None
    tags: tuple[str, ...]
    created_at: datetime | None
    updated_at: datetime | None
    archived: bool
    pinned: bool
    locked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(NoteSummary):
    """One note, whole or in part."""

    text: str
    """The text, or the asked lines of it; empty for locked notes."""
    lines: tuple[int, int]
    """First and last line that `text` holds, from 1, inclusive; (1, 0) when the note is empty."""
    total_lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GetResult:
    """Notes asked for by id or title."""

    notes: tuple[Note, ...]
    missing: tuple[str, ...]
    """What was asked for and not found."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedNote:
    """A note that was asked for."""

    id: str | None
    """None when it was handed over and has not been seen yet."""
    title: str
    source: str
    url: str | None
    confirmed: bool
    """Whether the note was found in its source afterwards."""
    how: str
    """Through what: bearcli, bear url, or file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding of `doctor`."""

    name: str
    """What was examined."""
    ok: bool
    detail: str
    """What was found."""
    advice: str | None
    """What to do about it; None when there is nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What `doctor` found."""

    ok: bool
    """Whether every check is."""
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListResult:
    """Notes by date, newest first."""

    notes: tuple[NoteSummary, ...]
    total: int
    """Notes that fit, before `limit`."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkHop:
    """One step along links: all links from one note to another."""

    from_note: str
    """`SOURCE:ID` of the note that holds the links; pass it to `get` or `links`."""
    from_title: str
    to_note: str
    """`SOURCE:ID` of the note that they lead to."""
    to_title: str
    direction: str
    """out when the walk went along the links, in when it went against them."""
    text: str
    """Text that stands for the first link in the note."""
    heading: str
    """Heading or `^block` that the first link names; empty for none."""
    line: int
    """Line of the first link in `from_note`, from 1."""
    form: str
    """How the first link is written: wiki, embed, path, bear or obsidian."""
    ambiguous: bool
    """Whether the first link may as well mean another note; then there is a step to each."""
    count: int
    """How many links there are from the one note to the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLink:
    """A link that leads to no note."""

    from_note: str
    """`SOURCE:ID` of the note that holds it."""
    from_title: str
    target: str
    """What it names, as written."""
    text: str
    heading: str
    """Heading or `^block` that it names; empty for none."""
    line: int
    """Its line, from 1."""
    form: str
    """How it is written: wiki, embed, path, bear or obsidian."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The notes around one note, along links."""

    root: NoteSummary
    hops: tuple[tuple[LinkHop, ...], ...]
    """By distance from the root, from 1: the steps to notes that no shorter way leads to."""
    broken: tuple[BrokenLink, ...]
    """The root's own links that lead nowhere; none when links are followed backwards only."""
    left_out: int
    """Steps that were found and are not in `hops`, because of `limit`."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLinks:
    """Links that lead to no note, by the title of the note that holds them."""

    links: tuple[BrokenLink, ...]
    total: int
    """How many there are, before `limit`."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """A note with links."""

    note: NoteSummary
    incoming: int
    """Notes that link to it."""
    outgoing: int
    """Notes that it links to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hubs:
    """Notes with links, those with most neighbours first."""

    hubs: tuple[Hub, ...]
    total: int
    """How many notes have links, before `limit`."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MapNote:
    """One note of a picture."""

    id: str
    title: str
    source: str
    url: str | None
    tags: tuple[str, ...]
    x: float
    """Place from the left, in [0, 1]; near notes have near meanings."""
    y: float
    """Place from the top, in [0, 1]."""
    links: int
    """Notes of the picture that it is linked with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteMap:
    """Notes placed by meaning."""

    notes: tuple[MapNote, ...]
    links: tuple[tuple[int, int], ...]
    """Places in `notes` of two notes of which the first links to the second."""
    total: int
    """Notes that could be drawn, before `limit`."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """One tag and how many notes carry it, archived ones not counted."""

    name: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """What one sync did with one source."""

    source: str
    """Name of the source."""
    kind: str
    """bear, backup or markdown."""
    path: str
    documents: int
    """Documents of this source that the index holds after the sync."""
    added: int
    changed: int
    removed: int
    locked: int
    """Documents indexed by title only, because their text is encrypted."""
    hidden: int
    """Documents that vanished together with most others: not found any more, purged after 7 days."""
    remaining: int
    """Documents that differ and were not read yet, because a search must not wait for them."""
    skipped: tuple[tuple[str, str], ...]
    """Id or path, and the reason, of what could not be read."""
    warnings: tuple[str, ...]
    error: str | None
    """Why the source could not be read; the index keeps what it had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What one sync did."""

    sources: tuple[SourceReport, ...]
    chunks: int
    """Chunks in the index after the sync."""
    elapsed_ms: float
    """Time spent inside the engine."""
    dry_run: bool
    notices: tuple[str, ...] = ()
    """Sentences for a person, such as that a damaged index was moved aside and built again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedReport:
    """What one run of the embedding step did."""

    model: str | None
    dim: int | None
    embedded: int
    """Distinct texts that got their vector in this run."""
    failed: int
    """Texts that could not be embedded; recorded with a reason and skipped."""
    pending: int
    """Distinct texts that still wait."""
    elapsed_ms: float
    reason: str | None
    """Why nothing could be embedded; None when embedding was possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundStatus:
    """What the thread does that embeds while a server answers."""

    running: bool
    """Whether it is embedding; False while it waits for changes."""
    per_second: float | None
    """Texts embedded per second lately."""
    eta_s: float | None
    """Seconds until nothing waits, at that rate."""
    last_error: str | None
    """Why the last attempt could not go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus:
    """One registered source."""

    name: str
    kind: str
    path: str
    documents: int
    hidden: int
    """Documents that vanished together with most others: not found any more, purged after 7 days."""
    last_sync_at: datetime | None
    stale: bool
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEntry:
    """One registered source as it is now, compared a moment ago."""

    name: str
    """What `in:NAME` and `NAME:ID` call it."""
    kind: str
    """bear, backup or markdown."""
    path: str
    documents: int
    exclude: tuple[str, ...]
    """Patterns that this source alone leaves out, in gitignore syntax."""
    skipped: tuple[tuple[str, str], ...]
    """Id or path, and the reason, of what could not be read."""
    warnings: tuple[str, ...]
    error: str | None
    """Why the source could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
    """What is indexed, what still waits, and what runs."""

    index: str
    """Path of the index file."""
    index_size_bytes: int
    schema_version: int
    documents: int
    archived: int
    locked: int
    chunks: int
    embedded: int
    """Distinct texts with a vector of the current model."""
    pending: int
    failed: int
    model: str | None
    dim: int | None
    model_available: bool
    model_detail: str
    """Where the model comes from, or why there is none and what to do."""
    vector_backend: str
    """Instruction set that the vector scan uses."""
    last_full_index_at: datetime | None
    stale: bool
    sources: tuple[SourceStatus, ...]
    background: BackgroundStatus | None = None
    """The embedding thread of this process; None when there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingValue:
    """One setting as it holds now."""

    name: str
    """Name in the settings file; a dot leads into a table."""
    value: str | int | float | bool | tuple[str, ...] | None
    """None when there is none."""
    origin: str
    """flag, env VARIABLE, file 'PATH' or default."""
    variable: str
    """Environment variable that sets it."""
    help: str
    """What it is, in a few words."""
