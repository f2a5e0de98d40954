"""Write the generated parts of the documentation: docs/cli.md from `--help`, and the tools in docs/mcp.md.

    python docs/generate.py

`tests/python/test_docs.py` fails when the files differ from what this would write.
"""

import asyncio
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from bearsearch.cli.app import bearsearch
from bearsearch.errors import UsageError
from bearsearch.mcp_server.app import build
from bearsearch.mcp_server.library import Library

DOCS = Path(__file__).parent
WIDTH = 100
BEGIN = "<!-- generated: tools -->"
END = "<!-- /generated: tools -->"


def help_of(path: list[str]) -> str:
    """What `bearsearch PATH --help` prints on a terminal of `WIDTH` columns."""
    settings = {**bearsearch.context_settings, "terminal_width": WIDTH}
    context = click.Context(bearsearch, info_name="bearsearch", **settings)
    command: click.Command = bearsearch
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(context, name)
        assert found is not None
        command = found
        context = click.Context(command, info_name=name, parent=context)
    return command.get_help(context)


def command_paths() -> Iterator[list[str]]:
    """Every command's name, those below a group behind its own."""

    def below(command: click.Command, path: list[str], context: click.Context) -> Iterator[list[str]]:
        yield path
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                yield from below(found, [*path, name], context)

    yield from below(bearsearch, [], click.Context(bearsearch, info_name="bearsearch"))


def cli_page() -> str:
    """docs/cli.md."""
    text = (
        "# The command line\n\n"
        "Generated from `--help` by `python docs/generate.py`. Results go to standard output, everything else to "
        "standard error; the JSON of `--json` is described in [json.md](json.md).\n"
    )
    for path in command_paths():
        title = " ".join(["bearsearch", *path])
        text += f"\n## `{title}`\n\n```text\n{help_of(path).rstrip()}\n```\n"
    return text


def tools_part() -> str:
    """The tools of the MCP server, as their clients see them."""

    def no_index() -> Any:
        raise UsageError("documentation is written without an index")

    tools = asyncio.run(build(Library(no_index), note_create=True).list_tools())
    text = ""
    for tool in tools:
        note = " Only with `--note-create`." if tool.name == "note_create" else ""
        text += f"\n### `{tool.name}`\n\n{inspect.cleandoc(tool.description or '')}{note}\n"
        properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
        if properties:
            text += "\n| argument | type | default | |\n|---|---|---|---|\n"
        required = tool.input_schema.get("required", ())
        for name, schema in properties.items():
            kind = " or ".join(f"`{choice}`" for choice in schema["enum"]) if "enum" in schema else schema["type"]
            kind = "list of strings" if kind == "array" else kind
            default = "required" if name in required else f"`{_json(schema.get('default'))}`"
            text += f"| `{name}` | {kind} | {default} | {schema.get('description', '')} |\n"
    return text


def _json(value: object) -> str:
    import json

    return json.dumps(value)


def mcp_page(current: str) -> str:
    """docs/mcp.md with its generated part written anew."""
    before, _, rest = current.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tools_part()}\n{END}{after}"


def main() -> None:
    """Write both files."""
    (DOCS / "cli.md").write_text(cli_page(), encoding="utf-8")
    mcp = DOCS / "mcp.md"
    mcp.write_text(mcp_page(mcp.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
