"""The options that every command shares, accepted before and after the command, and the output formats.

Click accepts a group's options only before the command's name. So each of these is declared on the program and on
every command, keeps its value out of the command's own parameters, and writes it into one `GlobalOptions` object.
The command's options are read after the program's, so what stands nearer to the command wins.

Nothing here reads the environment or the configuration file: that is `bearsearch.config`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bearsearch.cli import complete

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from bearsearch.config import Settings
    from bearsearch.service import Index

__all__ = [
    "FORMATS",
    "GRAPH_FORMATS",
    "LIST_FORMATS",
    "Command",
    "Format",
    "GlobalOptions",
    "Group",
    "global_options",
    "pass_options",
    "write_options",
]

FORMATS = ("text", "json", "jsonl", "md", "xml", "files")

LIST_FORMATS = ("text", "json", "jsonl")
"""What a list of things that are no notes is printed in."""

GRAPH_FORMATS = ("dot", "mermaid")
"""What only a drawing of links can be printed in."""

GLOBAL_OPTION_NAMES = frozenset(
    {"index", "db", "vault", "model", "model_path", "semantic", "output_format", "quiet", "debug"}
)


@dataclass(slots=True)
class GlobalOptions:
    """What the global options of one call say; None means that an option was not given."""

    index: str | None = None
    db: str | None = None
    vault: str | None = None
    model: str | None = None
    model_path: str | None = None
    semantic: bool | None = None
    output_format: str = "text"
    quiet: bool = False
    debug: bool = False

    def load_settings(self) -> "Settings":
        """Every setting as these options, the environment and the configuration file give it.

        Raises:
            UsageError: A setting has no meaning.
        """
        from bearsearch.config import load_settings

        return load_settings(
            {
                "index": self.index,
                "db": self.db,
                "vault": self.vault,
                "model": self.model,
                "model_path": self.model_path,
                "semantic": self.semantic,
            }
        )

    def open_index(self, *, quick: bool = False) -> "Index":
        """Open the index that the options, the environment and the configuration file name; loads no model.

        Args:
            quick: For a process that asks once and ends: the model, if one is needed, loads faster and embeds slower.

        Raises:
            BearsearchError: The index cannot be opened, or a setting has no meaning.
        """
        from bearsearch.service import Index

        return Index(
            self.index,
            db=self.db,
            vault=self.vault,
            model=self.model,
            model_path=self.model_path,
            semantic=self.semantic,
            quick=quick,
        )


def _listed(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Store an option's value if it was given; a default must not overwrite what stood before the command.

    Also while a shell completes a line: a tag is completed from the index that the line names.
    """
    source = context.get_parameter_source(parameter.name)
    if source is not None and source is not click.core.ParameterSource.DEFAULT:
        setattr(context.ensure_object(GlobalOptions), parameter.name, value)


def _shared(*names: str, **attributes: Any) -> Callable[[Any], Any]:
    return click.option(*names, expose_value=False, callback=_remember, **attributes)


_OPTIONS = (
    _shared("--index", metavar="PATH", shell_complete=complete.paths("file"), help="Index file to use."),
    _shared("--db", metavar="PATH", shell_complete=complete.paths("file"), help="Use only this Bear database."),
    _shared(
        "--vault", metavar="PATH", shell_complete=complete.paths("dir"), help="Use only this folder of Markdown notes."
    ),
    _shared("--model", metavar="NAME", shell_complete=complete.models, help="Embedding model."),
    _shared(
        "--model-path",
        metavar="DIR",
        shell_complete=complete.paths("dir"),
        help="Folder that holds the embedding model's files.",
    ),
    _shared("--no-semantic", "semantic", is_flag=True, flag_value=False, help="Words only: load no embedding model."),
    _shared(
        "--format",
        "output_format",
        type=click.Choice((*FORMATS, *GRAPH_FORMATS)),
        help="What to print on standard output.",
    ),
    _shared("--json", "output_format", flag_value="json", help="The same as --format json."),
    _shared("-q", "--quiet", is_flag=True, help="Print results and errors only."),
    _shared("--debug", is_flag=True, help="Show a traceback when something fails."),
)

_F = TypeVar("_F", bound=Callable[..., Any])


def global_options(command: _F) -> _F:
    """Declare the global options on a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


pass_options = click.make_pass_decorator(GlobalOptions, ensure=True)
"""Hand the merged `GlobalOptions` to a command as its first argument."""


def write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write a command's own options, then the global ones, each under its heading."""
    own: list[tuple[str, str]] = []
    shared: list[tuple[str, str]] = []
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None and isinstance(parameter, click.Option):
            (shared if parameter.name in GLOBAL_OPTION_NAMES else own).append(record)
    for heading, records in (("Options", own), ("Global options", shared)):
        if records:
            with formatter.section(heading):
                formatter.write_dl(records)


class _WithExample(click.Command):
    """A command whose help shows its own options first, the global ones under their heading, and an example."""

    def __init__(self, *args: Any, example: str = "", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.example = example

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under two headings."""
        write_options(self, ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example below everything else."""
        super().format_epilog(ctx, formatter)
        if self.example:
            with formatter.section("Example"):
                for line in self.example.splitlines():
                    formatter.write(f"  {line}\n")


class Command(_WithExample):
    """A command with an example; without one it is not finished.

    It names the formats that it can print. Its help and completion offer no other, and any other is refused before it
    runs, wherever on the line it stood.
    """

    def __init__(self, *args: Any, formats: tuple[str, ...] = ("text",), **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.formats = formats
        for parameter in self.params:
            if parameter.name != "output_format" or not isinstance(parameter, click.Option):
                continue
            if isinstance(parameter.type, click.Choice):  # --format; the other is --json
                parameter.type = Format(FORMATS + GRAPH_FORMATS, offered=formats)
                parameter.hidden = len(formats) == 1
            else:
                parameter.hidden = "json" not in formats

    def invoke(self, ctx: click.Context) -> Any:
        """Run, unless the output was asked for in a format that this command has not."""
        form = ctx.ensure_object(GlobalOptions).output_format
        if form not in self.formats:
            raise click.UsageError(f"`{ctx.info_name}` prints {_listed(self.formats)}, not {form}", ctx=ctx)
        return super().invoke(ctx)


class Format(click.Choice[str]):
    """The formats that there are, of which help and completion offer those of one command."""

    def __init__(self, choices: tuple[str, ...], *, offered: tuple[str, ...]) -> None:
        super().__init__(choices)
        self.offered = offered

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """The offered ones, as help shows them."""
        return click.Choice(self.offered).get_metavar(param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem[str]]":
        """The offered ones that begin as typed."""
        return click.Choice(self.offered).shell_complete(ctx, param, incomplete)


class Group(_WithExample, click.Group):
    """A command that only has other commands below it."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the options."""
        self.format_commands(ctx, formatter)
        write_options(self, ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first argument names; an unknown one is refused with the nearest name."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.NoSuchCommand(args[0], possibilities=known, ctx=ctx)
        return super().resolve_command(ctx, args)
