"""The examination behind `bearsearch doctor`: one check per thing that can be wrong, each with what to do about it.

Never shows a word of a note. Called by `Index.doctor`, which hands over what only an open index knows. Takes seconds at
most: the whole index file is read and the model is loaded.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bearsearch import _core
from bearsearch.errors import BearsearchError
from bearsearch.types import Check

if TYPE_CHECKING:
    from bearsearch.embedding import Embedder, ModelChoice

__all__ = ["check_index", "check_model", "check_source", "check_vectors", "check_versions", "launching_app"]

OPEN_TIMEOUT_S = 10.0
"""macOS may ask its user before it lets a program open another's file, and answers the program only then."""

BUSY_TIMEOUT_MS = 5_000
SAMPLES = 3
"""Stored vectors that are computed again."""

LEAST_COSINE = 0.99
"""Between a stored vector and the same text's vector now; batches and threads change the last digits only."""

_PACKAGES = ("fastembed", "onnxruntime", "tokenizers", "numpy", "mcp", "watchfiles", "httpx")

_TRY_TO_READ = "import sys; open(sys.argv[1], 'rb').read(1)"


def check_source(name: str, kind: str, path: str) -> Check:
    """Whether a source may be read and is what it should be."""
    label = f"source {name}"
    refusal = _refusal(path) if kind == "bear" else _folder_refusal(path)
    if refusal is not None:
        return Check(name=label, ok=False, detail=f"'{path}': {refusal[0]}", advice=refusal[1])
    if kind != "bear":
        return Check(name=label, ok=True, detail=f"the folder '{path}' can be read", advice=None)
    try:
        found = _core.describe_bear(path, BUSY_TIMEOUT_MS)
    except BearsearchError as error:
        return Check(name=label, ok=False, detail=str(error), advice="name Bear's own database.sqlite with --db PATH")
    tables = ", ".join(table for table in found["tables"] if table.startswith("Z"))
    detail = (
        f"Bear database '{path}': {found['notes']} notes ({found['archived']} archived, {found['locked']} locked, "
        f"{found['trashed']} trashed or deleted), journal mode {found['journal_mode']}, notes and tags joined by "
        f"{found['junction'] or 'nothing that was found'}; tables: {tables}"
    )
    if found["warnings"]:
        advice = "look for an update of bearsearch, and report this line, which holds no text of notes"
        return Check(name=label, ok=False, detail=f"{detail}; {'; '.join(found['warnings'])}", advice=advice)
    return Check(name=label, ok=True, detail=detail, advice=None)


def _folder_refusal(path: str) -> tuple[str, str] | None:
    try:
        with os.scandir(path) as entries:
            next(entries, None)
    except FileNotFoundError:
        return "the folder is not there", "mount its disk, or name the folder's new place with --vault PATH"
    except OSError as error:
        return (error.strerror or str(error)), _permission_advice()
    return None


def _refusal(path: str) -> tuple[str, str] | None:
    """Why a child process cannot read a byte of a file, and what to do; None when it can.

    A child, because where macOS asks its user the opening hangs, and because closing a descriptor of a database ends
    the locks that this process holds on it.
    """
    try:
        Path(path).stat()
    except PermissionError:
        pass  # the child says it in the system's words
    except OSError:
        return "the file is not there", "start Bear once, or name its database with --db PATH"
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _TRY_TO_READ, path],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=OPEN_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"opening it took longer than {OPEN_TIMEOUT_S:.0f} seconds", _permission_advice()
    if done.returncode == 0:
        return None
    words = done.stderr.strip().splitlines()[-1:] or ["the system refuses"]
    return words[0], _permission_advice()


def _permission_advice() -> str:
    if sys.platform != "darwin":
        return "give this user the right to read it"
    app = launching_app(_parents())
    who = f"'{app}'" if app else "the program that started bearsearch (Terminal, an editor, Claude Desktop)"
    place = "System Settings, Privacy & Security, Full Disk Access"
    return f"allow {who} in {place}, then quit and reopen it; sudo does not help"


def _parents() -> list[str]:
    """Commands of this process and those above it, nearest first."""
    done = subprocess.run(["ps", "-axo", "pid=,ppid=,comm="], capture_output=True, encoding="utf-8", check=False)
    rows: dict[int, tuple[int, str]] = {}
    for line in done.stdout.splitlines():
        with contextlib.suppress(ValueError):
            pid, parent, command = line.split(maxsplit=2)
            rows[int(pid)] = (int(parent), command)
    commands: list[str] = []
    pid = os.getpid()
    while pid in rows and len(commands) < 64:
        pid, command = rows[pid]
        commands.append(command)
    return commands


def launching_app(commands: Sequence[str]) -> str | None:
    """The application that macOS asks about: the outermost bundle among a process and those above it.

    >>> launching_app(["/usr/bin/python3", "-zsh", "/Applications/iTerm.app/Contents/MacOS/iTerm2", "/sbin/launchd"])
    '/Applications/iTerm.app'
    """
    for command in reversed(commands):
        before, found, _ = command.partition(".app/Contents/")
        if found:
            return f"{before}.app"
    return None


def check_index(engine: _core.Index, path: Path) -> Iterator[Check]:
    """Whether the file is whole, may be written, and what was left of an earlier damage."""
    facts = engine.status()
    try:
        engine.check()
    except BearsearchError as error:
        yield Check(
            name="index",
            ok=False,
            detail=str(error),
            advice="`bearsearch index` moves it aside, keeps the embeddings that can be read and builds it again",
        )
    else:
        detail = f"'{path}' is whole: schema version {facts['schema_version']}, {facts['size_bytes']:,} bytes"
        yield Check(name="index", ok=True, detail=detail, advice=None)
    reason = facts["unwritable"]
    if reason is not None:
        yield Check(
            name="index access",
            ok=False,
            detail=f"the index can be read and not written: {reason}",
            advice="make room or give write access, or choose another place with --index",
        )
    mode = path.stat().st_mode & 0o777
    if os.name == "posix" and mode & 0o077:
        yield Check(
            name="index access",
            ok=False,
            detail=f"other users of this machine may open the index (mode {mode:o})",
            advice=f"`chmod 600 '{path}'`; bearsearch makes it so, and something changed it since",
        )
    aside = sorted(path.parent.glob(f"{path.name}.damaged*"))
    if aside:
        yield Check(
            name="damaged copies",
            ok=False,
            detail=f"{len(aside)} files of a damaged index are kept until every source has been read again",
            advice="`bearsearch index` reads the sources and removes them",
        )


def check_model(choice: ModelChoice, load: Callable[[], Embedder]) -> tuple[Check, Embedder | None]:
    """Whether a model is here, loads and computes."""
    if not choice.available:
        advice = "`bearsearch doctor --prepare` installs what is missing; words are searched all the same"
        return Check(name="model", ok=False, detail=choice.detail, advice=advice), None
    try:
        embedder = load()
        vector = embedder.embed_query("a lighthouse keeper's notes")
    except BearsearchError as error:
        advice = "`bearsearch doctor --prepare` fetches or makes its files anew; words are searched all the same"
        return Check(name="model", ok=False, detail=str(error), advice=advice), None
    detail = f"{choice.detail}; it loads and computes {len(vector)} numbers per text"
    return Check(name="model", ok=True, detail=detail, advice=None), embedder


def check_vectors(engine: _core.Index, embedder: Embedder | None) -> Iterator[Check]:
    """Whether the stored vectors are this model's, and what still waits or failed."""
    live = next((model for model in engine.models() if model["live"]), None)
    if live is None:
        yield Check(
            name="embeddings",
            ok=engine.status()["chunks"] == 0,
            detail="the index holds no embeddings yet",
            advice="`bearsearch index` computes them",
        )
        return
    if embedder is not None and embedder.fingerprint != live["fingerprint"]:
        yield Check(
            name="embeddings",
            ok=False,
            detail=f"they were made by another model or other settings ({live['name']}); meaning is not searched",
            advice="`bearsearch index` embeds the notes anew and keeps the old ones until it is done",
        )
    elif embedder is not None:
        stored = engine.sample(live["id"], SAMPLES)
        now = embedder.embed_documents([text for text, _ in stored])
        cosines = [
            sum(float(a) * b for a, b in zip(row, vector, strict=True))
            for row, (_, vector) in zip(now, stored, strict=True)
        ]
        lowest = min(cosines, default=1.0)
        yield Check(
            name="embeddings",
            ok=lowest >= LEAST_COSINE,
            detail=f"{len(stored)} stored ones were computed again; the lowest cosine is {lowest:.4f}",
            advice=None
            if lowest >= LEAST_COSINE
            else "`bearsearch index --rebuild=embeddings` computes all of them anew",
        )
    coverage = engine.coverage(live["id"])
    waiting, failed = coverage["pending"], coverage["failed"]
    yield Check(
        name="pending",
        ok=not waiting and not failed,
        detail=f"{coverage['embedded']:,} passages are embedded, {waiting:,} wait, {failed:,} failed",
        advice="`bearsearch index` embeds what waits" if waiting or failed else None,
    )


def check_versions(vector_backend: str) -> Check:
    """What runs; always right, for a report."""
    packages: list[str] = []
    for package in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            packages.append(f"{package} {importlib.metadata.version(package)}")
    return Check(
        name="versions",
        ok=True,
        detail=f"bearsearch {_core.__version__}, SQLite {_core.SQLITE_VERSION}, vector kernels {vector_backend}, "
        f"Python {platform.python_version()} on {platform.platform()}; {', '.join(packages)}",
        advice=None,
    )
