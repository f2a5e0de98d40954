"""What is done about a damaged index: it is moved aside, begun anew, and the answer is tried once more.

The engine finds the damage and saves what it can; here is decided when. Nothing here reads notes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TypeVar

from bearsearch import _core
from bearsearch.errors import IndexBusyError, IndexCorruptError, IndexUnavailableError, IndexUnwritableError
from bearsearch.service.open_index import OpenIndex

__all__ = ["mend", "whole"]

_Answer = TypeVar("_Answer")


def whole(index: OpenIndex, answer: Callable[[], _Answer]) -> tuple[_Answer, tuple[str, ...]]:
    """An answer, and what there is to say when the index was damaged and had to be begun anew for it.

    The notes are then read within the time that every answer has for that; the next one goes on.
    """
    answered: _Answer | None = None
    try:
        answered = answer()
        # A leg may have failed over damage and the others answered without it.
        index.engine.refuse_damaged()
        return answered, ()
    except IndexCorruptError as error:
        try:
            told = mend(index, error)
        except IndexUnavailableError as reason:
            if answered is None:
                raise
            return answered, (str(reason),)
    if index.background is not None:
        index.background.wake()
    answered = answer()
    with contextlib.suppress(IndexBusyError, IndexUnwritableError):
        index.engine.finish_recovery()
    return answered, (told,)


def mend(index: OpenIndex, error: IndexCorruptError) -> str:
    """Moves the damaged file aside and begins a new one with the vectors that could still be read."""
    saved = _core.replace_damaged(str(index.settings.index), ours=index.settings.origin("index") == "default")
    if saved is None:
        return f"the index was damaged, and another process has just built it again ({error})"
    return (
        f"the index was damaged and is built again; {saved} embeddings could be saved, the damaged file is"
        f" '{index.settings.index}.damaged' until every source is read again ({error})"
    )
