"""The program `bearsearch`: which commands there are, and how an error ends it.

A command returns its exit code, or raises. What each code means is in `EXIT_CODES`; the errors of
`bearsearch.errors` carry theirs. An error is one sentence on standard error, without a traceback unless `--debug`
asks for it. A closed pipe ends the program quietly, and Ctrl-C with 130.
"""

import contextlib
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import click

from bearsearch.cli.options import GlobalOptions, global_options, write_options
from bearsearch.cli.output import is_terminal
from bearsearch.errors import BearsearchError

__all__ = ["EXIT_CODES", "bearsearch"]

EXIT_CODES: Mapping[int, str] = {
    0: "Something was found, or done.",
    1: "Nothing was found; for `get`, something asked for is missing.",
    2: "The call has no meaning: an unknown option, an empty query, a limit below 1.",
    3: "The index cannot be opened or written.",
    4: "A source (Bear's database, a folder of notes) cannot be read.",
    5: "Vectors were demanded by `--mode vector` and no embedding model is there.",
    70: "A fault of bearsearch itself; `--debug` shows where.",
    130: "Interrupted by Ctrl-C.",
}

COMMANDS: Mapping[str, str] = {
    "search": "bearsearch.cli.search",
    "similar": "bearsearch.cli.similar",
    "get": "bearsearch.cli.get",
    "list": "bearsearch.cli.list",
    "tags": "bearsearch.cli.tags",
    "links": "bearsearch.cli.links",
    "ui": "bearsearch.cli.ui",
    "source": "bearsearch.cli.source",
    "map": "bearsearch.cli.map",
    "index": "bearsearch.cli.index",
    "status": "bearsearch.cli.status",
    "doctor": "bearsearch.cli.doctor",
    "mcp": "bearsearch.cli.mcp",
    "install": "bearsearch.cli.install",
    "uninstall": "bearsearch.cli.uninstall",
    "config": "bearsearch.cli.config",
    "completion": "bearsearch.cli.completion",
    "demo": "bearsearch.cli.demo",
    "eval": "bearsearch.cli.eval",
    "bench": "bearsearch.cli.bench",
}
"""Each command's module, which names its `click.Command` `command`. Order is the help's order."""

SHORT_HELP: Mapping[str, str] = {
    "search": "Find notes by word, by meaning and despite typos.",
    "similar": "Find notes near a note in meaning.",
    "get": "Print notes by id or title.",
    "list": "List notes by date.",
    "tags": "List tags with their numbers of notes.",
    "links": "Show the notes around a note, along its links.",
    "ui": "Search while you type, with the note beside.",
    "source": "Add, list and remove folders and libraries.",
    "map": "Draw the notes as a page, near ones near.",
    "index": "Bring the index up to date.",
    "status": "Show what is indexed and what waits.",
    "doctor": "Examine sources, index and model.",
    "mcp": "Serve the notes to an agent (MCP).",
    "install": "Make a program such as Claude use the MCP server.",
    "uninstall": "Take the MCP server out of a program's settings.",
    "config": "Show and change settings.",
    "completion": "Print a script for completion in your shell.",
    "demo": "Try it on notes that come with it.",
    "eval": "Measure how good search is.",
    "bench": "Measure speed on this machine.",
}
"""Commands' lines in the program's help, here too, so that the help need not import them. One that is missing costs
its import; a test compares the others with the commands' own."""

COMPLETION_VARIABLE = "_BEARSEARCH_COMPLETE"
"""Set when a shell asks what could stand next; see `bearsearch.cli.completion`."""


class Program(click.Group):
    """A group whose commands are imported when asked for, and whose `main` turns every error into one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None when there is none of that name."""
        module = COMMANDS.get(cmd_name)
        return None if module is None else importlib.import_module(module).command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first argument names; an unknown one is refused with the nearest name."""
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the program's options under two headings."""
        write_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, without importing those whose line is known."""
        rows: list[tuple[str, str]] = []
        for name in COMMANDS:
            line = SHORT_HELP.get(name)
            if line is None:
                command = self.get_command(ctx, name)
                line = "" if command is None else command.get_short_help_str(formatter.width)
            rows.append((name, line))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands and the exit codes below everything else."""
        self.format_commands(ctx, formatter)
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES.items()])

    def main(  # type: ignore[override]  # narrower on purpose: this program always exits
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run and exit.

        Args:
            args: Arguments without the program's name; None takes the process's own.
            prog_name: Name that the help shows.
            extra: Passed to Click's context.
        """
        if COMPLETION_VARIABLE in os.environ:  # a shell asks what could stand here
            from bearsearch.cli.complete import register_bash

            register_bash()
            super().main(args, prog_name, complete_var=COMPLETION_VARIABLE)
        _speak_utf8()
        options = GlobalOptions()
        arguments = list(sys.argv[1:] if args is None else args)
        if arguments[:1] == ["help"]:  # as git and cargo understand it
            arguments = [*arguments[1:], "--help"]
        # Click's own main would do, but ends a closed pipe with 1, which here means that nothing was found.
        try:
            with self.make_context(prog_name or "bearsearch", arguments, obj=options, **extra) as context:
                code = self.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as done:
            code = done.exit_code
        except (click.Abort, KeyboardInterrupt):
            if is_terminal(sys.stderr):
                print(file=sys.stderr)  # below the ^C that the terminal shows
            code = 130
        except BrokenPipeError:
            _leave_closed_pipe()
            code = 0
        except Exception as error:
            if options.debug:
                import traceback

                traceback.print_exc()
            code = _report(error)
        sys.exit(code or 0)


def _speak_utf8() -> None:
    """Results are UTF-8 whatever the locale says; a program that reads them must not guess."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _leave_closed_pipe() -> None:
    """Send what Python still flushes at exit to nowhere, so that it does not complain about the pipe again."""
    # Without a descriptor behind standard output nothing will be flushed to a pipe.
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: Exception) -> int:
    """Say on standard error what went wrong, in one sentence, and give the exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show(sys.stderr)
        return error.exit_code
    if isinstance(error, click.ClickException):
        from bearsearch.cli.mistakes import sentence

        _say(sentence(error))
        return error.exit_code
    if isinstance(error, BearsearchError):
        _say(str(error))
        return error.exit_code
    _say(
        f"unexpected {type(error).__name__}: {error}; this is a fault of bearsearch, "
        "run the command again with --debug to see where"
    )
    return 70


def _say(sentence: str) -> None:
    # Nobody may be reading errors: the exit code still tells.
    with contextlib.suppress(BrokenPipeError):
        print(f"bearsearch: {sentence}", file=sys.stderr, flush=True)


def _print_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from bearsearch import __version__

        click.echo(f"bearsearch {__version__}")
        context.exit()


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
@global_options
def bearsearch() -> None:
    """Search your own notes by word, by meaning and despite typos.

    Reads a Bear library (read-only) and folders of Markdown; everything stays on this machine.
    """
