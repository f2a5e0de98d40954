"""`bearsearch doctor`: what is wrong, and what to do about it."""

import sys

import click

from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import style_of, write

__all__ = ["command"]


@click.command(
    "doctor",
    short_help="Examine sources, index and model.",
    cls=Command,
    formats=("text", "json"),
    example="bearsearch doctor --json",
)
@click.option(
    "--prepare",
    is_flag=True,
    help="First fetch a missing or damaged model, or make the faster form of the installed one.",
)
@global_options
@pass_options
def command(options: GlobalOptions, /, *, prepare: bool) -> int:
    """Examine sources, index, model and stored embeddings, and say what to do about each finding.

    Reads the whole index file and computes with the model; prints no text of notes. Exits with 1 when something needs
    a person's eye.
    """
    form = options.output_format
    with options.open_index() as index:
        value = index.doctor(prepare=prepare, on_message=lambda sentence: click.echo(sentence, err=True))
    if form == "json":
        from bearsearch.render import as_json

        write(as_json.dumps(as_json.examination(value)))
    else:
        from bearsearch.render import as_text

        write(as_text.examination(value, style=style_of(sys.stdout)))
    return 0 if value.ok else 1
