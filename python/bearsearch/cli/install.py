"""`bearsearch install`: make a program use the MCP server, and see that it would."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import say, write

if TYPE_CHECKING:
    from bearsearch.install.hosts import Host
    from bearsearch.install.settings import Change

__all__ = ["HOST_NAMES", "command", "host_of"]

HOST_NAMES = ("claude-desktop", "claude-code", "cursor", "vscode", "codex", "zed")


def host_of(name: str) -> "Host":
    """The program of that name."""
    from bearsearch.install.hosts import HOSTS

    return HOSTS[name]


@click.command(
    "install",
    short_help="Make a program such as Claude use the MCP server.",
    cls=Command,
    example="bearsearch install claude-desktop\n"
    "bearsearch install zed --vault ~/Notes --note-create\n"
    "bearsearch install cursor --print",
)
@click.argument("host", type=click.Choice(HOST_NAMES))
@click.option("--print", "only_print", is_flag=True, help="Show what would be written; change nothing.")
@click.option("--note-create", is_flag=True, help="Let the program create notes.")
@click.option("--no-check", is_flag=True, help="Do not start the server to see whether it answers.")
@global_options
@pass_options
def command(options: GlobalOptions, /, host: str, only_print: bool, note_create: bool, no_check: bool) -> int:
    """Make a program use the MCP server: its settings get one entry, with absolute paths.

    Everything else in the file stays as it is, comments too, and the file is copied first. Then the server is
    started as the file says and asked for its tools; if it does not answer, the file is put back. Index, source and
    model options become part of the entry.
    """
    from bearsearch.install import settings
    from bearsearch.install.launch import launch

    found = host_of(host)
    entry = found.entry(launch(_arguments(options, note_create=note_create)))
    if only_print:
        say([f"{found.title} reads '{found.path()}'"], quiet=options.quiet)
        write(settings.fragment(found, entry))
        return 0
    change = settings.added(found, entry)
    if change is None:
        say([f"{found.title} has this entry already, in '{found.path()}'"], quiet=options.quiet)
    else:
        kept = f"; the file before: '{change.backup}'" if change.backup else ""
        say([f"{found.title}: '{change.path}' is written{kept}"], quiet=options.quiet)
    if not no_check:
        _check(found, change)
    say([f"now {found.after}"], quiet=options.quiet)
    return 0


def _check(host: "Host", change: "Change | None") -> None:
    from bearsearch.errors import HostError
    from bearsearch.install import settings
    from bearsearch.install.handshake import greet

    entry = settings.read_entry(host)
    if entry is None:
        raise HostError(f"{host.title}'s settings '{host.path()}' lost the entry again; is the program running?")
    try:
        answer = greet(entry)
    except HostError as error:
        undone = change is not None and change.undo()
        raise HostError(f"{error}; {'the file is as it was' if undone else 'the entry is left in the file'}") from error
    write(
        f"bearsearch {answer.version} answered in {answer.seconds:.1f} s with {len(answer.tools)} tools "
        f"and {answer.documents:,} notes\n"
    )


def _arguments(options: GlobalOptions, *, note_create: bool) -> list[str]:
    """The server's options, with absolute paths."""
    arguments: list[str] = []
    paths = {"--index": options.index, "--db": options.db, "--vault": options.vault, "--model-path": options.model_path}
    for name, value in paths.items():
        if value is not None:
            arguments += [name, str(Path(value).expanduser().absolute())]
    if options.model is not None:
        arguments += ["--model", options.model]
    if options.semantic is False:
        arguments.append("--no-semantic")
    if note_create:
        arguments.append("--note-create")
    return arguments
