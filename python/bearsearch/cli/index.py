"""`bearsearch index`: bring the index up to date, first its text, then its embeddings.

Text can be searched as soon as the first step is done, and a run that was interrupted in the second goes on where it
stopped. Exits with 4 when a source could not be read; what the index holds of it stays.
"""

import sys
from typing import TYPE_CHECKING, Literal, cast

import click

from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import say, style_of, write
from bearsearch.cli.progress import progress_bar
from bearsearch.errors import SourceError, UsageError

if TYPE_CHECKING:
    import threading

    from bearsearch.types import EmbedReport, SyncReport

__all__ = ["command"]


@click.command(
    "index",
    short_help="Bring the index up to date.",
    cls=Command,
    formats=("text", "json"),
    example="bearsearch index\nbearsearch index --vault ~/Notes --watch\nbearsearch index --rebuild=embeddings",
)
@click.argument("paths", nargs=-1, metavar="")
@click.option(
    "--rebuild",
    type=click.Choice(["all", "text", "embeddings"]),
    is_flag=False,
    flag_value="all",
    metavar="[all|text|embeddings]",
    help="Build again instead of comparing; without a value, all of it. Embeddings of unchanged text are kept "
    "unless `embeddings` is said.",
)
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@click.option("--watch", is_flag=True, help="Go on: index again after every change, until interrupted.")
@click.option("--accept-loss", is_flag=True, help="Let notes go at once that vanished together with most others.")
@global_options
@pass_options
def command(
    options: GlobalOptions,
    /,
    paths: tuple[str, ...],
    rebuild: str | None,
    dry_run: bool,
    watch: bool,
    accept_loss: bool,
) -> int:
    """Index the notes: compare, read what changed, embed what is new.

    A Bear database or a folder named by --db or --vault is remembered for later calls.
    """
    if paths:
        raise UsageError(
            f"index takes no argument, but {paths[0]!r} came; name a folder of Markdown notes with --vault, "
            "a Bear database with --db"
        )
    if watch and dry_run:
        raise UsageError("--watch follows changes and writes them; it cannot be combined with --dry-run")
    form = options.output_format
    with options.open_index() as index:
        with progress_bar(quiet=options.quiet) as progress:
            what = True if rebuild == "all" else cast("Literal['text', 'embeddings'] | None", rebuild) or False
            report = index.sync(
                rebuild=what, dry_run=dry_run, accept_loss=accept_loss, register=True, progress=progress
            )
            embedding = None
            if options.semantic is not False and not dry_run:
                embedding = index.embed(
                    allow_download=True,
                    progress=progress,
                    on_message=lambda sentence: say([sentence], quiet=options.quiet),
                )
        errors = _show(report, embedding, form=form, quiet=options.quiet)
        if watch:
            say(["watching; Ctrl-C ends"], quiet=options.quiet)
            index.watch(
                on_report=lambda report, embedding: _show(report, embedding, form=form, quiet=options.quiet),
                stop=_stopped_by_signals(),
            )
    return SourceError.exit_code if errors else 0


def _show(report: "SyncReport", embedding: "EmbedReport | None", *, form: str, quiet: bool) -> list[str]:
    """Print what was done; errors of sources go to standard error and are returned."""
    if form == "json":
        from bearsearch.render import as_json

        write(as_json.dumps(as_json.sync(report, embedding)))
    elif not quiet:
        from bearsearch.render import as_text

        write(as_text.sync(report, embedding, style=style_of(sys.stdout)))
    sys.stdout.flush()
    say(report.notices, quiet=quiet)
    errors = [source.error for source in report.sources if source.error]
    say([f"bearsearch: {error}" for error in errors])
    return errors


def _stopped_by_signals() -> "threading.Event":
    """An event that SIGINT and SIGTERM set, so that a step that runs is finished first."""
    import signal
    import threading

    stop = threading.Event()

    def end(_number: int, _frame: object) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    return stop
