"""Cursors: where the next page of an answer begins, in a word that a model can copy without a mistake.

A server of the newest protocol keeps nothing between two calls, so a cursor carries its place, and a mark of the
arguments that it continues: with other arguments it is refused instead of giving the middle of another answer.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from bearsearch.errors import UsageError

__all__ = ["marked_cursor", "next_cursor", "offset_of"]


def _mark(arguments: Mapping[str, Any]) -> str:
    text = json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=list)
    return hashlib.blake2b(text.encode("utf-8", errors="replace"), digest_size=4).hexdigest()


def marked_cursor(place: int, arguments: Mapping[str, Any]) -> str:
    """A cursor that goes on behind `place` of the answer to `arguments`."""
    return f"{place}-{_mark(arguments)}"


def next_cursor(offset: int, total: int, arguments: Mapping[str, Any]) -> str | None:
    """The cursor of the page that begins behind `offset` entries; None when none of `total` is left.

    >>> next_cursor(10, 25, {"query": "train"}) is None, next_cursor(25, 25, {})
    (False, None)
    """
    return marked_cursor(offset, arguments) if offset < total else None


def offset_of(cursor: str, arguments: Mapping[str, Any]) -> int:
    """How many entries a page leaves out; 0 without a cursor.

    Raises:
        UsageError: The cursor is none of ours, or belongs to other arguments.
    """
    if not cursor.strip():
        return 0
    found = re.fullmatch(r"(\d{1,9})-([0-9a-f]{8})", cursor.strip(), re.ASCII)
    if found is None:
        raise UsageError(f'cursor is "{cursor[:40]}"; pass the cursor of the reply before, or leave it out')
    if found[2] != _mark(arguments):
        raise UsageError(
            "the cursor belongs to other arguments; repeat those of the call that gave it, or leave the cursor out"
        )
    return int(found[1])
