"""A call that has no meaning, told in one sentence: what was given, what could have been, the nearest of it.

Imported only when there is such a call. That it exits with 2 is decided by Click and `bearsearch.errors`.
"""

import difflib
import re
from collections.abc import Sequence
from typing import cast

import click

from bearsearch.cli.options import Format

__all__ = ["sentence"]


def sentence(error: click.ClickException) -> str:
    """One sentence on one line for an error of Click's."""
    message = " ".join(_message(error).split())
    message = message[:1].lower() + message[1:]
    if isinstance(error, click.UsageError) and error.ctx is not None:
        separator = "" if message.endswith((".", "?")) else "."
        message += f"{separator} See `{error.ctx.command_path} --help`."
    return message


def _message(error: click.ClickException) -> str:
    if isinstance(error, click.NoSuchCommand):
        return _no_such_command(error)
    if isinstance(error, click.NoSuchOption):
        message = error.message.rstrip(".")
        return message + _nearest(error.option_name, _options(error))
    if isinstance(error, click.MissingParameter) and (choices := _choices(error)):
        return f"missing {_named(error)}; {_listed(choices)}"
    if isinstance(error, click.BadParameter) and (choices := _choices(error)):
        given = re.match(r"'(.*)' is not one of", error.message)
        if given:
            return f"{_named(error)} is '{given[1]}', not {_listed(choices)}{_nearest(given[1], choices)}"
    return error.format_message().strip()


def _no_such_command(error: click.NoSuchCommand) -> str:
    message = error.message.rstrip(".")
    if error.possibilities:
        return f"{message}; did you mean {error.possibilities[0]}?"
    if error.ctx is not None and error.ctx.parent is None:
        import shlex

        return f"{message}; to search for it, say `bearsearch search {shlex.quote(error.command_name)}`"
    return message


def _options(error: click.NoSuchOption) -> Sequence[str]:
    """Options that the command's help shows; Click's own list has hidden ones, and names that are hardly like it."""
    if error.ctx is None:
        return ()
    return [
        name
        for parameter in error.ctx.command.get_params(error.ctx)
        if isinstance(parameter, click.Option) and not parameter.hidden
        for name in parameter.opts
    ]


def _choices(error: click.BadParameter) -> Sequence[str]:
    kind = None if error.param is None else error.param.type
    if isinstance(kind, Format):
        return kind.offered
    return list(cast("click.Choice[str]", kind).choices) if isinstance(kind, click.Choice) else ()


def _named(error: click.BadParameter) -> str:
    if isinstance(error.param, click.Option):
        return max(error.param.opts, key=len)
    return str(error.param.name) if error.param is not None else "value"


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + " or " + words[-1] if len(words) > 1 else words[0]


def _nearest(given: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(given.casefold(), known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
