"""The service's values as text for a person at a terminal, or for `grep` behind a pipe.

Control characters in notes are replaced throughout, so that a note cannot drive the terminal that shows it.
"""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import unquote

from bearsearch.render.style import PLAIN, Style, wrapped_lines
from bearsearch.render.visible import for_terminal, on_one_line
from bearsearch.types import (
    BackgroundStatus,
    EmbedReport,
    Examination,
    Explanation,
    GetResult,
    Hit,
    IndexStatus,
    ListResult,
    Note,
    NoteSummary,
    SearchResult,
    SettingValue,
    SourceEntry,
    SourceReport,
    SyncReport,
    Tag,
)

__all__ = [
    "count",
    "date",
    "get",
    "notes",
    "search",
    "search_remarks",
    "setting",
    "settings",
    "size",
    "source",
    "sources",
    "status",
    "sync",
    "tags",
]

_INDENT = "    "
_LONG_VALUE = 40
_MINIMUM_WIDTH = 20  # narrower terminals get long lines: one word per line reads worse


def search(result: SearchResult, *, style: Style = PLAIN, explain: bool = False) -> str:
    """All hits: rank and title, where and when, the passage, the link; a blank line between two."""
    return "\n".join(_hit(hit, style, explain) for hit in result.hits)


def _hit(hit: Hit, style: Style, explain: bool) -> str:
    title = on_one_line(hit.title) or "(untitled)"
    head = f"{hit.rank:>2}. {style.link(style.title(title), _url(hit.url))}{_marks(hit.archived, hit.locked, style)}"
    if hit.tags:
        head += "  " + style.tag(_tags(hit.tags))
    place = [date(hit.updated_at), on_one_line(hit.source), on_one_line(hit.heading), _lines(hit.lines)]
    rows = [head, _INDENT + style.dim(" \u00b7 ".join(part for part in place if part))]
    if explain:
        rows.append(_INDENT + style.dim(_explanation(hit)))
    before, behind = _around(hit)
    rows += (_INDENT + style.dim(line) for line in before)
    rows += _passage(hit.passage) if hit.passage is not None else (_INDENT + line for line in _snippet(hit, style))
    rows += (_INDENT + style.dim(line) for line in behind)
    if hit.duplicates:
        rows.append(_INDENT + style.dim("nearly the same: " + ", ".join(on_one_line(note) for note in hit.duplicates)))
    if hit.url:
        rows.append(_INDENT + style.dim(_place(hit.url, hit.line_hits[0] if hit.line_hits else hit.lines[0])))
    return "".join(row + "\n" for row in rows)


def _passage(text: str) -> list[str]:
    """A whole passage, its lines as they are."""
    return [(_INDENT + line).rstrip() for line in for_terminal(text).removesuffix("\n").split("\n")]


def _around(hit: Hit) -> tuple[list[str], list[str]]:
    """The neighbours of the best passage, those before it and those behind it, one line each."""
    before: list[str] = []
    behind: list[str] = []
    for passage in hit.context:
        place = " \u00b7 ".join(part for part in (on_one_line(passage.heading), _lines(passage.lines)) if part)
        row = f"[{place}] {on_one_line(passage.text)}"
        (before if passage.lines[0] < hit.lines[0] else behind).append(row)
    return before, behind


def _place(url: str, line: int) -> str:
    """Where a hit is: a link of its program, or for a plain file `PATH:LINE`, which editors and terminals open.

    >>> _place("file:///notes/a%20b.md", 7)
    '/notes/a b.md:7'
    """
    if not url.startswith("file://"):
        return on_one_line(url)
    path = unquote(url.removeprefix("file://"))
    # A drive of Windows stands behind a slash in an address.
    path = path[1:] if path[2:3] == ":" else path
    return f"{on_one_line(path)}:{line}"


def _snippet(hit: Hit, style: Style) -> list[str]:
    text = on_one_line(hit.snippet)
    width = None if style.width is None else max(style.width - len(_INDENT), _MINIMUM_WIDTH)
    rows: list[str] = []
    for start, end in wrapped_lines(text, width):
        row = ""
        position = start
        for first, last in hit.highlights:
            first, last = max(first, position), min(last, end)
            if first < last:
                row += text[position:first] + style.match(text[first:last])
                position = last
        rows.append(row + text[position:end])
    return rows


def _explanation(hit: Hit) -> str:
    parts = [f"score {hit.score:.4f}"]
    if hit.text_rank is not None:
        parts.append(f"text #{hit.text_rank}" + ("" if hit.bm25 is None else f" (bm25 {hit.bm25:.2f})"))
    if hit.vector_rank is not None:
        parts.append(f"vector #{hit.vector_rank}" + ("" if hit.cosine is None else f" (cosine {hit.cosine:.3f})"))
    if hit.confidence is not None:
        parts.append(f"confidence {hit.confidence:.2f}")
    if hit.explanation is not None:
        shares = (("words", hit.explanation.text_share), ("meaning", hit.explanation.vector_share))
        parts += (f"{name} {share:.2f} of 1" for name, share in shares if share is not None)
        if hit.explanation.words:
            parts.append("holds " + " ".join(on_one_line(word) for word in hit.explanation.words))
    return ", ".join(parts)


def search_remarks(result: SearchResult, *, explain: bool = False) -> list[str]:
    """What a person should know beside the hits: how many, by which legs, and what is missing; one line each."""
    ran = [f"{name} {leg.hits}" for name, leg in result.legs.items() if leg.ran]
    summary = f"{len(result.hits)} of {result.total} notes" if result.hits else "no note matches"
    summary += f" ({result.mode}: {', '.join(ran)})" if ran else f" ({result.mode})"
    remarks = [summary]
    if result.cursor is not None and any(hit.passage is not None for hit in result.hits):
        remarks.append(f"more with --cursor {result.cursor}")
    if explain:
        remarks += (f"{name} did not run: {leg.reason}" for name, leg in result.legs.items() if leg.reason)
        remarks += _explained(result.explanation) if result.explanation else []
    return remarks + [on_one_line(notice) for notice in result.notices]


def _explained(explanation: Explanation) -> list[str]:
    """How the query was read and answered, one line each."""
    rows = [f"understood: {on_one_line(sentence)}" for sentence in explanation.understood]
    words = ", ".join(f"{on_one_line(word.word)} in {count(word.documents, 'note')}" for word in explanation.words)
    rows += [f"words: {words}"] if words else []
    rows.append(f"fusion: {explanation.fusion}")
    return [*rows, "ms: " + ", ".join(f"{step} {ms:.1f}" for step, ms in explanation.elapsed_ms.items())]


def get(result: GetResult, *, style: Style = PLAIN) -> str:
    """Each note: title, where and when, and below a blank line its text; a blank line between two."""
    return "\n".join(_note(note, style) for note in result.notes)


def _note(note: Note, style: Style) -> str:
    title = on_one_line(note.title) or "(untitled)"
    head = style.link(style.title(title), _url(note.url)) + _marks(note.archived, note.locked, style)
    if note.tags:
        head += "  " + style.tag(_tags(note.tags))
    whole = note.lines == (1, note.total_lines) or note.total_lines == 0
    lines = "" if whole else f"{_lines(note.lines)} of {note.total_lines}"
    place = [date(note.updated_at), on_one_line(note.source), on_one_line(note.id), lines]
    rows = [head, style.dim(" \u00b7 ".join(part for part in place if part))]
    if note.url:
        rows.append(style.dim(_url(note.url) or ""))
    text = for_terminal(note.text)
    if note.locked:
        rows += ["", style.dim("locked: its text is encrypted and never read")]
    elif text:
        rows += ["", text.removesuffix("\n")]
    return "".join(row + "\n" for row in rows)


def notes(result: ListResult, *, style: Style = PLAIN) -> str:
    """One line per note: date, title, tags, source and id."""
    return "".join(_summary(note, style) for note in result.notes)


def _summary(note: NoteSummary, style: Style) -> str:
    title = style.link(style.title(on_one_line(note.title) or "(untitled)"), _url(note.url))
    pinned = style.warning(" [pinned]") if note.pinned else ""
    tags = "  " + style.tag(_tags(note.tags)) if note.tags else ""
    place = style.dim(f"  {on_one_line(note.source)}:{on_one_line(note.id)}")
    marks = pinned + _marks(note.archived, note.locked, style)
    return f"{style.dim(date(note.updated_at) or ' ' * 10)}  {title}{marks}{tags}{place}\n"


def tags(values: Sequence[Tag], *, style: Style = PLAIN) -> str:
    """One line per tag, its number of notes first."""
    width = max((len(f"{tag.count:,}") for tag in values), default=0)
    return "".join(f"{tag.count:>{width},}  {style.tag(_tags([tag.name]))}\n" for tag in values)


def status(value: IndexStatus, *, style: Style = PLAIN) -> str:
    """What is indexed, what still waits, what runs, and every source."""
    notes = f"{value.documents:,}"
    extra = [f"{count:,} {word}" for count, word in ((value.archived, "archived"), (value.locked, "locked")) if count]
    waiting = [f"{value.pending:,} waiting"] if value.pending else []
    waiting += [f"{value.failed:,} failed"] if value.failed else []
    model = value.model or "none"
    if value.dim:
        model += f" ({value.dim} dimensions)"
    rows = [
        ("index", f"{on_one_line(value.index)} ({size(value.index_size_bytes)})"),
        ("notes", notes + (f" ({', '.join(extra)})" if extra else "")),
        ("passages", f"{value.chunks:,}"),
        ("embeddings", f"{value.embedded:,}" + (f" ({', '.join(waiting)})" if waiting else "")),
        ("", _background(value.background)),
        ("model", model + ("" if value.model_available else style.warning(" not available"))),
        ("", style.dim(on_one_line(value.model_detail))),
        ("vector scan", value.vector_backend),
        ("last full index", date(value.last_full_index_at, clock=True) or "never"),
        ("fresh", style.warning("no: a source could not be compared to its end") if value.stale else "yes"),
    ]
    text = "".join(f"{style.dim(f'{name:<16}')}{shown}\n" for name, shown in rows if shown)
    for source in value.sources:
        text += (
            f"\n{style.title(on_one_line(source.name))} ({source.kind}): {count(source.documents, 'note')}, "
            f"compared {date(source.last_sync_at, clock=True) or 'never'}\n{_INDENT}{on_one_line(source.path)}\n"
        )
        if source.hidden:
            text += f"{_INDENT}{style.warning(_hidden(source.hidden))}\n"
        if source.error:
            text += f"{_INDENT}{style.warning(on_one_line(source.error))}\n"
    return text


def examination(value: Examination, *, style: Style = PLAIN) -> str:
    """One paragraph per finding, with what to do about it below."""
    text = ""
    for check in value.checks:
        mark = "ok  " if check.ok else style.warning("LOOK")
        text += f"{mark}  {style.title(on_one_line(check.name))}: {on_one_line(check.detail)}\n"
        if check.advice and not check.ok:
            text += f"      {on_one_line(check.advice)}\n"
    return text


def settings(values: Sequence[SettingValue], config_path: str, *, style: Style = PLAIN) -> str:
    """Every setting on a line of its own: name, value, origin unless that is the default, and what it is.

    Args:
        values: Every setting.
        config_path: The settings file, whether or not it exists.
        style: What the output can show.
    """
    names = max((len(value.name) for value in values), default=0)
    shown = [_shown(value) for value in values]
    # A long path must not push every other line apart.
    width = max((len(text) for text in shown if len(text) <= _LONG_VALUE), default=0)
    text = f"{style.dim('settings file')}  {on_one_line(config_path)}\n\n"
    for value, value_text in zip(values, shown, strict=True):
        given = value.origin != "default"
        name = f"{value.name:<{names}}"
        origin = on_one_line(value.origin) if given else "default"
        # The file is named once, at the top.
        origin = "file" if origin.startswith("file ") else origin
        text += f"{style.title(name) if given else name}  {value_text:<{width}}  "
        text += f"{style.tag(origin) if given else style.dim(origin)}  {style.dim(value.help)}\n"
    return text


def _shown(value: SettingValue) -> str:
    if value.value == "":
        return '""'
    return ", ".join(setting(value).splitlines()) or "-"


def setting(value: SettingValue) -> str:
    """The value alone: a list one entry per line, nothing for none."""
    found = value.value
    if found is None:
        return ""
    if isinstance(found, bool):
        return "true" if found else "false"
    entries = found if isinstance(found, tuple) else (str(found),)
    return "\n".join(on_one_line(entry) for entry in entries)


def _background(value: BackgroundStatus | None) -> str:
    if value is None:
        return ""
    if value.last_error is not None:
        return on_one_line(value.last_error)
    if not value.running or value.per_second is None:
        return ""
    left = f", about {value.eta_s:,.0f} s left" if value.eta_s is not None else ""
    return f"embedding {value.per_second:.3g} per second{left}"


def sync(report: SyncReport, embedding: EmbedReport | None, *, style: Style = PLAIN) -> str:
    """What `index` did: a line per source, what was skipped, and the embedding step."""
    text = "".join(_source(source, report.dry_run, style) for source in report.sources)
    if not report.sources:
        text = "no source is registered\n"
    text += f"{count(report.chunks, 'passage')} in the index, {report.elapsed_ms:,.0f} ms\n"
    if embedding is not None:
        text += _embedding(embedding, style)
    return text


def source(report: SourceReport, *, style: Style = PLAIN) -> str:
    """What `source add` read."""
    return _source(report, False, style)


def sources(entries: Sequence[SourceEntry], *, style: Style = PLAIN) -> str:
    """Each source: its name, kind and notes, its path and patterns, and what could not be read and why."""
    text = ""
    for entry in entries:
        skipped = f", {count(len(entry.skipped), 'file')} skipped" if entry.skipped else ""
        text += f"{style.title(on_one_line(entry.name))} ({entry.kind}): {count(entry.documents, 'note')}{skipped}\n"
        text += f"{_INDENT}{on_one_line(entry.path)}\n"
        if entry.exclude:
            text += f"{_INDENT}{style.dim('without ' + on_one_line(' '.join(entry.exclude)))}\n"
        text += f"{_INDENT}{style.warning(on_one_line(entry.error))}\n" if entry.error else ""
        text += "".join(f"{_INDENT}skipped {on_one_line(what)}: {on_one_line(why)}\n" for what, why in entry.skipped)
        text += "".join(f"{_INDENT}{style.warning(on_one_line(warning))}\n" for warning in entry.warnings)
    return text


def _source(source: SourceReport, dry_run: bool, style: Style) -> str:
    name = style.title(on_one_line(source.source))
    if source.error:
        return f"{name}: {style.warning(on_one_line(source.error))}\n"
    changes = [(source.added, "added"), (source.changed, "changed"), (source.removed, "removed")]
    done = [f"{count:,} {'would be ' if dry_run else ''}{word}" for count, word in changes if count]
    text = f"{name}: {count(source.documents, 'note')}, {', '.join(done) or 'nothing changed'}"
    text += f" ({source.locked:,} locked: by title only)\n" if source.locked else "\n"
    text += _INDENT + count(source.remaining, "note") + " are not read yet\n" if source.remaining else ""
    text += _INDENT + style.warning(_hidden(source.hidden)) + "\n" if source.hidden else ""
    text += "".join(f"{_INDENT}skipped {on_one_line(what)}: {on_one_line(why)}\n" for what, why in source.skipped)
    return text + "".join(f"{_INDENT}{style.warning(on_one_line(warning))}\n" for warning in source.warnings)


def _hidden(number: int) -> str:
    return f"{count(number, 'note')} vanished at once: kept for 7 days, `bearsearch index --accept-loss` lets them go"


def _embedding(report: EmbedReport, style: Style) -> str:
    if report.reason:
        return style.warning(f"no embeddings: {on_one_line(report.reason)}") + "\n"
    text = f"{count(report.embedded, 'text')} embedded"
    if report.embedded and report.elapsed_ms > 0:
        text += f" in {report.elapsed_ms / 1000:,.1f} s ({report.embedded / report.elapsed_ms * 1000:,.0f} per second)"
    text += f" by {report.model}" if report.model else ""
    if report.pending:
        text += f"; {report.pending:,} still wait"
    if report.failed:
        text += "; " + style.warning(f"{report.failed:,} failed")
    return text + "\n"


def date(moment: datetime | None, *, clock: bool = False) -> str:
    """A date in local time, as a person reads it; empty for None."""
    return "" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M" if clock else "%Y-%m-%d")


def size(n_bytes: int) -> str:
    """A file size in decimal units.

    >>> size(1_234_567)
    '1.2 MB'
    """
    amount = float(n_bytes)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def count(number: int, noun: str) -> str:
    """A number with its noun, in the plural where it should be."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _lines(lines: tuple[int, int]) -> str:
    first, last = lines
    return "" if last < first else f"line {first}" if first == last else f"lines {first}-{last}"


def _tags(tags: Sequence[str]) -> str:
    return " ".join("#" + on_one_line(tag) + ("#" if " " in tag else "") for tag in tags)


def _marks(archived: bool, locked: bool, style: Style) -> str:
    return "".join(style.warning(f" [{word}]") for word, true in (("archived", archived), ("locked", locked)) if true)


def _url(url: str | None) -> str | None:
    return None if url is None else on_one_line(url)
