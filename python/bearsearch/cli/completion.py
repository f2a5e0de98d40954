"""`bearsearch completion`: print the script that makes a shell complete commands, options, tags and titles."""

import click

from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import write

__all__ = ["command"]

SHELLS = ("bash", "zsh", "fish")


@click.command(
    "completion",
    short_help="Print a script for completion in your shell.",
    cls=Command,
    example='eval "$(bearsearch completion bash)"                                        # in ~/.bashrc\n'
    'eval "$(bearsearch completion zsh)"                                         # in ~/.zshrc, behind compinit\n'
    "bearsearch completion fish > ~/.config/fish/completions/bearsearch.fish     # once",
)
@click.argument("shell", type=click.Choice(SHELLS))
@global_options
@pass_options
def command(options: GlobalOptions, /, shell: str) -> int:
    """Print a script for bash, zsh or fish that completes commands, options, tags, sources and titles."""
    from click.shell_completion import get_completion_class

    from bearsearch.cli.app import COMPLETION_VARIABLE

    found = get_completion_class(shell)
    assert found is not None
    program = click.get_current_context().find_root().command
    # Not `source()`: Click's would start a bash to ask for its version, on a machine that may have none.
    maker = found(program, {}, "bearsearch", COMPLETION_VARIABLE)
    script = maker.source_template % maker.source_vars()
    if shell == "fish":
        # Click's script takes what stands between the first two commas, and so half of a title that has one.
        script = script.replace('string split ","', 'string split --max 1 ","')
    write(script)
    return 0
