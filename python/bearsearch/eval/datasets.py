"""What search is measured on: documents, queries, and which documents answer which query.

Two forms are read from disk: BEIR folders (``corpus.jsonl``, ``queries.jsonl``, ``qrels.tsv``) and known-item files
(JSON lines of ``query``, ``kind``, ``relevant``) beside the notes they ask about. Indexing and searching are elsewhere.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bearsearch.errors import UsageError
from bearsearch.types import Document

__all__ = ["Dataset", "Query", "load"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question with its answers."""

    id: str
    text: str
    gains: Mapping[str, int]
    """Judged relevance by document id; ids that are missing are not relevant."""
    kind: str | None = None
    """What sort of question it is; None where the dataset knows no kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A collection and what is asked of it."""

    name: str
    queries: tuple[Query, ...]
    """Those with at least one relevant document."""
    corpus: Path | None = None
    """A file of documents, one JSON object a line; None where `notes` has them."""
    notes: Path | None = None
    """A folder of Markdown or a Bear database."""

    def documents(self) -> Iterator[Document]:
        """The documents of `corpus`.

        Raises:
            UsageError: A line is not a document.
        """
        if self.corpus is None:
            return
        for place, row in _rows(self.corpus):
            try:
                yield Document(id=str(row["_id"]), title=row.get("title") or "", text=row["text"])
            except KeyError as error:
                raise UsageError(
                    f"'{self.corpus}', line {place}: a document needs _id and text, {error} is missing"
                ) from error


def load(path: Path, *, notes: Path | None = None) -> Dataset:
    """Reads a dataset.

    Args:
        path: A BEIR folder, or a known-item file.
        notes: What a known-item file asks about: a folder of Markdown whose files `relevant` names by their path under
            it, or a Bear database whose notes it names by their unique identifier.

    Raises:
        UsageError: It is neither, or a part of it is missing or malformed.
    """
    if path.is_dir():
        return _beir(path)
    if path.is_file():
        return _known_items(path, notes)
    raise UsageError(f"there is no dataset at '{path}'; name a BEIR folder or a known-item file")


def _beir(path: Path) -> Dataset:
    corpus, questions, judged = (path / name for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"))
    if not judged.is_file() and (path / "qrels" / "test.tsv").is_file():
        judged = path / "qrels" / "test.tsv"
    for part in (corpus, questions, judged):
        if not part.is_file():
            raise UsageError(f"'{path}' is no BEIR folder: it has no {part.name}")
    gains: dict[str, dict[str, int]] = {}
    with judged.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows, None)
        for place, row in enumerate(rows, 2):
            try:
                query, document, gain = row
                gains.setdefault(query, {})[document] = max(0, int(gain))
            except ValueError as error:
                raise UsageError(
                    f"'{judged}', line {place}: expected query id, document id and a whole number with tabs between"
                ) from error
    queries = [
        Query(id=str(row["_id"]), text=row["text"], gains=gains.get(str(row["_id"]), {}), kind=row.get("kind"))
        for _, row in _rows(questions)
    ]
    return Dataset(name=path.name, queries=tuple(filter(_is_answered, queries)), corpus=corpus)


def _known_items(path: Path, notes: Path | None) -> Dataset:
    if notes is None:
        raise UsageError(f"'{path}' asks about notes; name their folder or Bear database with --notes PATH")
    if not notes.exists():
        raise UsageError(f"there are no notes at '{notes}'")
    queries: list[Query] = []
    for place, row in _rows(path):
        try:
            gains = {str(item): 1 for item in row["relevant"]}
            queries.append(Query(id=str(row.get("id", place)), text=row["query"], gains=gains, kind=row.get("kind")))
        except (KeyError, TypeError) as error:
            raise UsageError(f"'{path}', line {place}: expected an object with query and relevant") from error
    return Dataset(name=path.stem, queries=tuple(filter(_is_answered, queries)), notes=notes)


def _is_answered(query: Query) -> bool:
    return any(gain > 0 for gain in query.gains.values())


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8") as lines:
        for place, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise UsageError(f"'{path}', line {place}: not JSON ({error})") from error
            if not isinstance(row, dict):
                raise UsageError(f"'{path}', line {place}: expected a JSON object")
            yield place, row
