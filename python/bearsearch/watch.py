"""Following the sources: an index that is brought up to date whenever a file of a source changes.

Needs the package `watchfiles` (extra `bearsearch[watch]`). What a change means is not decided here: each one is
answered by an ordinary sync, which compares for itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bearsearch.errors import UsageError

if TYPE_CHECKING:
    from bearsearch.types import EmbedReport, SourceStatus, SyncReport

__all__ = ["follow"]

QUIET_MS = 400
"""A change is answered when nothing else changed for so long: programs save in several steps."""


def follow(
    sources: Sequence[SourceStatus],
    *,
    sync: Callable[[], SyncReport],
    embed: Callable[[], EmbedReport],
    on_report: Callable[[SyncReport, EmbedReport | None], object],
    stop: threading.Event,
) -> None:
    """Syncs and embeds after every change of a source, until `stop` is set.

    Args:
        sources: What to follow.
        sync: Compares and reads what changed.
        embed: Embeds what waits.
        on_report: Receives what was done, whenever something was.
        stop: Ends the following within about a second.

    Raises:
        UsageError: The package `watchfiles` is not installed, or there is nothing to follow.
    """
    try:
        import watchfiles
    except ImportError as error:
        raise UsageError('--watch needs the package watchfiles; `pip install "bearsearch[watch]"` adds it') from error
    folders = {_folder(source) for source in sources}
    present = sorted(str(folder) for folder in folders if folder.is_dir())
    if not present:
        raise UsageError("no source is there to be followed; `bearsearch status` lists them")
    for changes in watchfiles.watch(
        *present,
        watch_filter=None,
        debounce=QUIET_MS,
        stop_event=stop,
        raise_interrupt=False,
        yield_on_timeout=True,
        rust_timeout=1_000,
    ):
        if stop.is_set():
            return
        if not changes:
            continue
        report = sync()
        if any(source.added or source.changed or source.removed or source.error for source in report.sources):
            on_report(report, embed())


def _folder(source: SourceStatus) -> Path:
    """A database's own folder, because its companions change first; a vault itself."""
    path = Path(source.path)
    return path.parent if source.kind == "bear" else path
