"""Which sources a call reads: those it was given, else the registered ones, else Bear's own database.

Compares nothing and reads no notes: `syncing` does. Registering and listing sources is `sources`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from bearsearch import _core
from bearsearch.errors import SourceNotFoundError, UsageError
from bearsearch.service.open_index import OpenIndex

__all__ = [
    "HANDED_OVER",
    "Target",
    "absolute",
    "find_targets",
    "kind_of",
    "no_sources",
    "require_targets",
    "source_ids",
    "target_ids",
]

HANDED_OVER = "given"
"""Kind of the sources whose documents a program hands over: there is nothing to compare them with."""

BACKUP_ENDINGS = (".bearbk", ".bear2bk")
"""How Bear calls its backups, the older name first."""

DATABASE_ENDINGS = (".sqlite", ".sqlite3", ".db")
"""How a file is called that may be Bear's database."""


class Target:
    """A source that a call reads: where it is, and whether it is to be registered."""

    __slots__ = ("kind", "name", "path", "register")

    def __init__(self, kind: str, path: str, *, name: str | None = None, register: bool = False) -> None:
        self.kind = kind
        self.path = path
        self.name = name
        self.register = register


def find_targets(index: OpenIndex, *, register: bool = False) -> list[Target]:
    """The sources that this call reads.

    Those named by `db` and `vault`, else the registered ones, else Bear's own database where there is one.
    """
    named: list[Target] = []
    if index.settings.db is not None:
        named.append(Target("bear", str(index.settings.db), register=register))
    if index.settings.vault is not None:
        named.append(Target(kind_of(str(index.settings.vault)), str(index.settings.vault), register=register))
    if named:
        return named
    rows = index.engine.sources()
    known = [Target(row["kind"], row["path"], name=row["name"]) for row in rows if row["registered"]]
    if known:
        return known
    bear = _core.default_bear_path()
    if bear is not None and Path(bear).exists():
        return [Target("bear", bear, register=register)]
    return []


def require_targets(index: OpenIndex, *, register: bool = False) -> list[Target]:
    """As `find_targets`, of which there must be one.

    Raises:
        SourceNotFoundError: There is no source at all.
    """
    targets = find_targets(index, register=register)
    if not targets:
        raise no_sources()
    return targets


def no_sources() -> SourceNotFoundError:
    """What there is to say when there is no source at all."""
    looked = _core.default_bear_path()
    where = f" (looked for Bear's database at '{looked}')" if looked else ""
    return SourceNotFoundError(
        f"there are no notes to search yet{where}; name a Bear database with --db PATH or a folder of Markdown with"
        " --vault PATH"
    )


def target_ids(engine: _core.Index, targets: Iterable[Target]) -> list[int]:
    """What the engine calls those of the targets that it knows."""
    wanted = {(target.kind, target.path) for target in targets}
    return [row["id"] for row in engine.sources() if (row["kind"], row["path"]) in wanted]


def source_ids(engine: _core.Index, targets: list[Target], names: Sequence[str]) -> list[int]:
    """As `target_ids`, of the targets with these names only; no names means all.

    Raises:
        UsageError: No target has one of the names.
    """
    ids = target_ids(engine, targets)
    if not names:
        return ids
    rows = {row["name"]: row["id"] for row in engine.sources() if row["id"] in ids}
    unknown = [name for name in names if name not in rows]
    if unknown:
        known = ", ".join(sorted(rows)) or "none"
        raise UsageError(f'there is no source named "{unknown[0]}"; the sources are: {known}')
    return [rows[name] for name in names]


def absolute(path: str | Path) -> str:
    """The path as the settings make it of `--vault PATH`, so that both name one source: links are not resolved."""
    return os.path.abspath(Path(path).expanduser())  # noqa: PTH100


def kind_of(path: str) -> str:
    """Backups go by their name, any other file can only be a database, and a folder is one of Markdown."""
    if path.lower().endswith(BACKUP_ENDINGS):
        return "backup"
    return "bear" if path.lower().endswith(DATABASE_ENDINGS) and Path(path).is_file() else "markdown"
