"""A progress bar for long steps: on standard error, on a terminal only, and never with `--quiet`."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bearsearch.cli.output import is_terminal

if TYPE_CHECKING:
    from bearsearch.types import Progress

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(*, quiet: bool) -> Generator["Callable[[Progress], None] | None"]:
    """Give what the service calls with each step's progress, or None where nobody would see a bar.

    One bar per stage, with count, rate and remaining time; a stage without a known total shows a moving bar.
    """
    if quiet or not is_terminal(sys.stderr):
        yield None
        return
    # Imported here: rich costs 50 ms, and most calls show no bar.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    stages: dict[str, TaskID] = {}

    def show(progress: "Progress") -> None:
        total = progress.total or None
        if progress.stage not in stages:
            stages[progress.stage] = bars.add_task(progress.stage, total=total, rate="")
        rate = "" if progress.per_second is None else f"{progress.per_second:,.0f}/s"
        bars.update(stages[progress.stage], completed=progress.done, total=total, rate=rate)

    with bars:
        yield show
