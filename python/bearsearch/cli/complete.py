"""What could stand where a value is being typed: tags, sources, titles, models, settings. A shell's completion asks.

A line that is being typed can be anything, so nothing here raises: what cannot be completed is completed by nothing.
`bearsearch.cli.completion` prints the script that makes a shell ask. Imports Click's completion only when asked.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from bearsearch.service import Index

__all__ = ["Completer", "models", "paths", "register_bash", "setting_names", "sources", "tags", "titles"]

Completer: TypeAlias = "Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]"

MOST_TITLES = 200
"""Titles offered at once; a shell that lists more asks whether it should, and nobody reads them."""

_ALL_NOTES = 10**9


def _beginning(values: Iterable[tuple[str, str | None]], begun: str) -> "list[CompletionItem[str]]":
    """Those values that begin as typed, in any case, with their descriptions."""
    from click.shell_completion import CompletionItem

    begun = begun.casefold()
    return [
        CompletionItem(value, help=text)
        for value, text in values
        # A value that looks like an option would be read as one.
        if value.casefold().startswith(begun) and not value.startswith("-")
    ]


def _from_index(read: "Callable[[Index], Iterable[tuple[str, str | None]]]") -> Completer:
    """A completer over values with descriptions that the index named on the line knows."""

    def complete(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
        from bearsearch.cli.options import GlobalOptions

        options = ctx.find_object(GlobalOptions) or GlobalOptions()
        # No index yet, an unreadable source, a damaged file: a shell is no place for the sentence that says so.
        with contextlib.suppress(Exception), options.open_index() as index:
            return _beginning(read(index), incomplete)
        return []

    return complete


def _counted_tags(index: "Index") -> Iterator[tuple[str, str]]:
    return ((tag.name, "1 note" if tag.count == 1 else f"{tag.count:,} notes") for tag in index.tags())


def _named_sources(index: "Index") -> Iterator[tuple[str, str]]:
    return ((source.name, source.path) for source in index.status().sources)


def _titles(index: "Index") -> Iterator[tuple[str, str | None]]:
    for note in index.list(limit=_ALL_NOTES).notes:
        title = " ".join(note.title.split())
        if title:
            yield title, " ".join(f"#{tag}" for tag in note.tags) or None


tags: Completer = _from_index(_counted_tags)
"""Tags, with how many notes carry each."""

sources: Completer = _from_index(_named_sources)
"""Names of the registered sources, with their paths."""

_every_title: Completer = _from_index(_titles)


def titles(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """Titles of notes, the newest first, each once."""
    found = {item.value: item for item in reversed(_every_title(ctx, parameter, incomplete))}
    return list(found.values())[::-1][:MOST_TITLES]


def setting_names(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """Names of settings, with what each is."""
    from bearsearch.config import SETTINGS

    return _beginning(((setting.name, setting.help) for setting in SETTINGS), incomplete)


def models(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """Embedding models that are known by name."""
    from bearsearch.embedding.models import catalogue

    return _beginning(((name, f"{spec.dim} dimensions") for name, spec in catalogue().items()), incomplete)


def paths(kind: str) -> Completer:
    """A completer that lets the shell complete paths.

    Args:
        kind: `file`, or `dir` for folders only.
    """

    def complete(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type=kind)]

    return complete


def register_bash() -> None:
    """Make the completion for Bash escape its values, which Bash inserts as they stand."""
    from click.shell_completion import BashComplete, CompletionItem, add_completion_class

    class Escaping(BashComplete):
        """Click's completion for Bash, with values as they must be typed."""

        def format_completion(self, item: CompletionItem[str]) -> str:
            """One line of the answer."""
            if item.type != "plain":
                return super().format_completion(item)
            value = "".join(
                character if character.isalnum() or character in "-_./:=@%+," else "\\" + character
                for character in item.value
            )
            # The script's `read` takes one level of backslashes away.
            return f"{item.type},{value}".replace("\\", "\\\\")

    add_completion_class(Escaping)
