"""The options that narrow a set of notes, the same for every command that has them."""

from collections.abc import Callable
from datetime import date, datetime
from typing import Any, TypedDict, TypeVar

import click

from bearsearch.cli import complete
from bearsearch.dates import parse_date

__all__ = ["Filters", "filter_options"]


class Filters(TypedDict):
    """The options' values, under the names that the service gives them."""

    tags: tuple[str, ...]
    any_tags: tuple[str, ...]
    sources: tuple[str, ...]
    after: date | datetime | None
    before: date | datetime | None
    archived: bool


class Day(click.ParamType[date | datetime]):
    """A day or moment on the command line."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date | datetime:
        """Read it; what is none is a usage error."""
        try:
            return parse_date(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


_OPTIONS = (
    click.option(
        "-t",
        "--tag",
        "tags",
        multiple=True,
        metavar="TAG",
        shell_complete=complete.tags,
        help="Has this tag; all of them, if repeated.",
    ),
    click.option(
        "--any-tag",
        "any_tags",
        multiple=True,
        metavar="TAG",
        shell_complete=complete.tags,
        help="Has one of these tags.",
    ),
    click.option(
        "--source",
        "sources",
        multiple=True,
        metavar="NAME",
        shell_complete=complete.sources,
        help="Comes from this source.",
    ),
    click.option("--after", type=Day(), metavar="DATE", help="Changed on this day or later (2026-01-31)."),
    click.option("--before", type=Day(), metavar="DATE", help="Changed before this day."),
    click.option("--archived", is_flag=True, help="Archived notes too."),
)

_F = TypeVar("_F", bound=Callable[..., Any])


def filter_options(command: _F) -> _F:
    """Declare the filter options on a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
