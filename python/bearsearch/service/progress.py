"""What a long step tells of itself while it runs, whether it reads notes or embeds them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from bearsearch.types import Progress

__all__ = ["ProgressFunction", "reporter"]

ProgressFunction: TypeAlias = Callable[[Progress], None]


def reporter(stage: str, progress: ProgressFunction | None) -> Callable[[int, int], None] | None:
    """The engine's bare numbers as `Progress`, with the speed so far."""
    if progress is None:
        return None
    started = time.perf_counter()

    def report(done: int, total: int) -> None:
        elapsed = time.perf_counter() - started
        per_second = done / elapsed if done and elapsed > 0 else None
        progress(Progress(stage=stage, done=done, total=total, per_second=per_second))

    return report
