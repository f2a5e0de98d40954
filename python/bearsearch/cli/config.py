"""`bearsearch config`: every setting, its value and where that comes from; and changes of the settings file."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bearsearch.cli import complete
from bearsearch.cli.options import LIST_FORMATS, Command, GlobalOptions, Group, global_options, pass_options
from bearsearch.cli.output import say, style_of, write

if TYPE_CHECKING:
    from bearsearch.config import Settings
    from bearsearch.types import SettingValue

__all__ = ["command"]


@click.group(
    "config",
    short_help="Show and change settings.",
    cls=Group,
    example="bearsearch config list\nbearsearch config set exclude_tags private diary",
)
@global_options
def command() -> None:
    """Show every setting and where it comes from, or change the settings file.

    A setting is taken from an option, else from the environment, else from the settings file, else its default holds.
    """


def _values(options: GlobalOptions) -> "tuple[Settings, list[SettingValue]]":
    from bearsearch.config import SETTINGS
    from bearsearch.types import SettingValue

    settings = options.load_settings()
    return settings, [
        SettingValue(
            name=setting.name,
            value=str(value) if isinstance(value := settings.value(setting.name), Path) else value,
            origin=settings.origin(setting.name),
            variable=setting.env,
            help=setting.help,
        )
        for setting in SETTINGS
    ]


@command.command(
    "list",
    short_help="Show every setting with its origin.",
    cls=Command,
    formats=LIST_FORMATS,
    example="bearsearch config list",
)
@global_options
@pass_options
def list_command(options: GlobalOptions, /) -> int:
    """Show every setting: its value, where that comes from, and what it is."""
    form = options.output_format
    settings, values = _values(options)
    if form == "text":
        from bearsearch.render import as_text

        write(as_text.settings(values, str(settings.config_path), style=style_of(sys.stdout)))
    else:
        from bearsearch.render import as_json

        document = as_json.settings(values, str(settings.config_path))
        write(as_json.dumps(document) if form == "json" else as_json.lines(document["settings"]))
    return 0


@command.command(
    "path",
    short_help="Show where the settings file is.",
    cls=Command,
    example='"$EDITOR" "$(bearsearch config path)"',
)
@global_options
@pass_options
def path_command(options: GlobalOptions, /) -> int:
    """Show where the settings file is, or would be."""
    from bearsearch.config import find_settings_file

    write(str(find_settings_file()))
    return 0


_name = click.argument("name", shell_complete=complete.setting_names)


@command.command(
    "get", short_help="Show one value.", cls=Command, formats=("text", "json"), example="bearsearch config get model"
)
@_name
@global_options
@pass_options
def get_command(options: GlobalOptions, /, name: str) -> int:
    """Show the value of a setting, a list one entry per line. Exits with 1 when it has none."""
    from bearsearch.config import find_setting

    form = options.output_format
    find_setting(name)
    value = next(value for value in _values(options)[1] if value.name == name)
    if form == "json":
        from bearsearch.render import as_json

        write(as_json.dumps(as_json.setting(value)))
    else:
        from bearsearch.render import as_text

        write(as_text.setting(value))
    return 1 if value.value is None or value.value == () else 0


@command.command(
    "set",
    short_help="Write a setting into the settings file.",
    cls=Command,
    example="bearsearch config set model BAAI/bge-small-en-v1.5\n"
    "bearsearch config set exclude 'Archive/**' '*.draft.md'",
)
@_name
@click.argument("values", nargs=-1, required=True, metavar="VALUE...")
@global_options
@pass_options
def set_command(options: GlobalOptions, /, name: str, values: tuple[str, ...]) -> int:
    """Write a setting into the settings file; comments and other settings stay as they are."""
    from bearsearch.config import find_settings_file
    from bearsearch.config_edit import set_value
    from bearsearch.errors import UsageError

    path = find_settings_file()
    set_value(path, name, values)
    say([f"{name} is set in '{path}'"], quiet=options.quiet)
    try:
        origin = options.load_settings().origin(name)
    except UsageError as incomplete:  # such as the address of an endpoint whose model is not named yet
        say([f"not complete yet: {incomplete}"])
        return 0
    if not origin.startswith("file"):
        say([f"{origin} still goes before it"])
    return 0


@command.command(
    "unset",
    short_help="Remove a setting from the settings file.",
    cls=Command,
    example="bearsearch config unset model",
)
@_name
@global_options
@pass_options
def unset_command(options: GlobalOptions, /, name: str) -> int:
    """Remove a setting from the settings file. Exits with 1 when it does not stand there."""
    from bearsearch.config import find_settings_file
    from bearsearch.config_edit import unset_value

    path = find_settings_file()
    removed = unset_value(path, name)
    say([f"{name} {'is removed from' if removed else 'does not stand in'} '{path}'"], quiet=options.quiet and removed)
    return 0 if removed else 1
