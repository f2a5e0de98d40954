"""Creating a note: where it goes, and whether it arrived. How it is written is `bearsearch.create`."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bearsearch import _core
from bearsearch.create import in_bear, in_folder, one_line
from bearsearch.errors import UsageError
from bearsearch.service.freshness import freshen
from bearsearch.service.open_index import OpenIndex
from bearsearch.service.scope import scope_of
from bearsearch.service.targets import Target, require_targets
from bearsearch.types import CreatedNote

__all__ = ["create"]

WRITABLE_KINDS = frozenset({"bear", "markdown"})
"""Kinds of sources that take new notes."""

CREATE_WAIT_S = 6.0
"""How long a note that was handed to Bear may take to arrive; usually it is there within 30 ms."""

CREATE_POLL_S = 0.1


def create(index: OpenIndex, *, title: str, content: str, tags: Sequence[str], source: str | None) -> CreatedNote:
    """The work of `Index.create`."""
    targets = require_targets(index)
    freshen(index, targets)
    target, name = _writable(index.engine, targets, source)
    started_ms = time.time() * 1000
    if target.kind == "bear":
        written = in_bear(title=title, content=content, tags=tags)
        row = _await_note(index, target, written.note_id, one_line(title), started_ms, wait_s=CREATE_WAIT_S)
    else:
        written = in_folder(target.path, title=title, content=content, tags=tags)
        row = _await_note(index, target, written.note_id, None, started_ms, wait_s=0.0)
    return CreatedNote(
        id=row["id"] if row else written.note_id,
        title=row["title"] if row else one_line(title),
        source=name,
        url=row["url"] if row else None,
        confirmed=row is not None,
        how=written.how,
    )


def _writable(engine: _core.Index, targets: list[Target], source: str | None) -> tuple[Target, str]:
    """The source that a new note goes to, and its name."""
    names = {(row["kind"], row["path"]): row["name"] for row in engine.sources()}
    found = [(target, names.get((target.kind, target.path), "")) for target in targets]
    found = [(target, name) for target, name in found if target.kind in WRITABLE_KINDS]
    if source is not None:
        chosen = [(target, name) for target, name in found if name.casefold() == source.strip().casefold()]
    else:
        chosen = [(target, name) for target, name in found if target.kind == "bear"] or found
    if len(chosen) == 1:
        return chosen[0]
    known = ", ".join(f'"{name}"' for _, name in found) or "none"
    if source is not None:
        raise UsageError(f'no source named "{source}" takes new notes; those that do: {known}')
    raise UsageError(f"it is not clear where the note should go; name one source: {known}")


def _await_note(
    index: OpenIndex,
    target: Target,
    note_id: str | None,
    title: str | None,
    started_ms: float,
    *,
    wait_s: float,
) -> _core.NoteDict | None:
    """The new note once its source shows it: the one of that id, or else of that title and not older."""
    until = time.monotonic() + wait_s
    while True:
        freshen(index, [target])
        options = scope_of(index.engine, [target], archived=True)
        for row in index.engine.find(note_id or title or "", options):
            created_ms = row["created_at_ms"]
            # Bear writes whole seconds in places.
            if note_id is not None or created_ms is None or created_ms >= started_ms - 2000:
                return row
        if time.monotonic() >= until:
            return None
        time.sleep(CREATE_POLL_S)
