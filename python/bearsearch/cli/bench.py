"""`bearsearch bench`: measure speed on this machine. The arguments are the benchmark's own."""

import click

from bearsearch.cli.options import Command

__all__ = ["command"]


@click.command(
    "bench",
    short_help="Measure speed on this machine.",
    cls=Command,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    example="bearsearch bench --quick\nbearsearch bench vector --full",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> int:
    """Measure speed on this machine, beside peers where they are installed."""
    from bearsearch.bench import run

    return run(arguments)
