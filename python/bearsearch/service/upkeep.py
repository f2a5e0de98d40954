"""What keeps an index up to date without being asked: the background thread, and following changes as they happen.

When they work is `bearsearch.background` and `bearsearch.watch`; what they do is an ordinary sync and embedding.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from bearsearch.background import Background
from bearsearch.service.embedding import embed
from bearsearch.service.open_index import OpenIndex
from bearsearch.service.report import status
from bearsearch.service.syncing import sync
from bearsearch.service.targets import find_targets
from bearsearch.types import EmbedReport, SyncReport

__all__ = ["start_background", "watch"]


def start_background(index: OpenIndex, *, delay_s: float) -> None:
    """The work of `Index.start_background`."""
    if index.background is None:
        index.background = Background(
            sync=lambda: sync(index, register=False),
            embed=lambda count: embed(index, limit=count, threads=1),
            delay_s=delay_s,
        )
        index.background.start()


def watch(
    index: OpenIndex, *, on_report: Callable[[SyncReport, EmbedReport | None], object], stop: threading.Event
) -> None:
    """The work of `Index.watch`."""
    from bearsearch.watch import follow

    wanted = {(target.kind, target.path) for target in find_targets(index)}
    sources = [source for source in status(index).sources if (source.kind, source.path) in wanted]
    follow(
        sources,
        sync=lambda: sync(index, register=False),
        embed=lambda: embed(index),
        on_report=on_report,
        stop=stop,
    )
