"""The command line: arguments -> service -> render, and exit codes.

    app.py        the program `bearsearch`: its commands, and how an error ends it
    options.py    the global options, accepted before and after a command, and the output formats
    filters.py    the options that narrow a set of notes
    formats.py    which function of render prints what in which format
    output.py     where words go: results to standard output, everything else to standard error
    complete.py   what could stand where a value is being typed
    progress.py   a bar for long steps, on a terminal only
    <command>.py  one file per command: its arguments, one call of the service, one call of render

No searching, no formatting and no protocol lives here. Importing this package imports nothing; a command's
module is imported when the command runs, and what is heavy only inside the function that needs it.
"""

from collections.abc import Sequence
from typing import NoReturn

__all__ = ["main", "mcp_main"]


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the program and exit with its code.

    Args:
        argv: Arguments without the program's name; None takes the process's own.
    """
    import sys

    if (sys.argv[1:] if argv is None else list(argv)) == ["--version"]:
        # Scripts and hosts ask this first, and nothing of the command line is needed to say it.
        from bearsearch import __version__

        print(f"bearsearch {__version__}")
        sys.exit(0)
    try:
        from bearsearch.cli.app import bearsearch
    except KeyboardInterrupt:  # Ctrl-C while Python is still importing
        sys.exit(130)
    bearsearch.main(args=None if argv is None else list(argv), prog_name="bearsearch")


def mcp_main() -> NoReturn:
    """Run the program `bearsearch-mcp`: `bearsearch mcp` with the same options."""
    import sys

    main(["mcp", *sys.argv[1:]])
