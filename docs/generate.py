"""Write the generated parts of the documentation: docs/cli.md from `--help`, docs/schema/, the tools in
docs/mcp.md and the table in docs/settings.md.

    python docs/generate.py

`tests/python/test_docs.py` fails when the files differ from what this would write.
"""

import asyncio
import dataclasses
import inspect
import json
import re
import types
import typing
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from bearsearch.cli.app import bearsearch
from bearsearch.config import SETTINGS
from bearsearch.errors import UsageError
from bearsearch.mcp_server.app import build
from bearsearch.mcp_server.library import Library
from bearsearch.render.as_json import LEFT_OUT, RENAMED
from bearsearch.types import (
    BrokenLink,
    BrokenLinks,
    EmbedReport,
    Examination,
    GetResult,
    IndexStatus,
    LinkHop,
    ListResult,
    NoteSummary,
    SearchResult,
    SettingValue,
    SourceEntry,
    SourceReport,
    SyncReport,
    Tag,
)

DOCS = Path(__file__).parent
WIDTH = 100
BEGIN, END = "<!-- generated: {} -->", "<!-- /generated: {} -->"


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
            default = "required" if name in required else f"`{json.dumps(schema.get('default'))}`"
            text += f"| `{name}` | {kind} | {default} | {schema.get('description', '')} |\n"
    return text


def settings_part() -> str:
    """Every setting with its variable."""
    text = "\n| setting | environment | what it is |\n|---|---|---|\n"
    return text + "".join(f"| `{one.name}` | `{one.env}` | {one.help} |\n" for one in SETTINGS)


def _with_part(current: str, name: str, part: str) -> str:
    begin, end = BEGIN.format(name), END.format(name)
    before, _, rest = current.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{part}\n{end}{after}"


def mcp_page(current: str) -> str:
    """docs/mcp.md with its generated part written anew."""
    return _with_part(current, "tools", tools_part())


def settings_page(current: str) -> str:
    """docs/settings.md with its generated part written anew."""
    return _with_part(current, "settings", settings_part())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hub(NoteSummary):
    """An entry of `links --hubs`: a note with the numbers beside its own keys."""

    incoming: int
    outgoing: int


@dataclasses.dataclass(frozen=True)
class EvalDataset:
    """An entry of `eval`, which makes its document itself."""

    name: str
    documents: int
    queries: int
    modes: Mapping[str, Mapping[str, float]]
    kinds: Mapping[str, Mapping[str, Mapping[str, float]]]
    baseline: str | None
    significance: Mapping[str, Mapping[str, float]]
    groundedness: Mapping[str, float | None]
    legs_p50_ms: Mapping[str, Mapping[str, float]]
    p95_ms: Mapping[str, float]
    missing: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Document:
    """What one `--json` document is made of."""

    root: type | None = None
    """The value whose keys it has; None for none."""
    keys: Mapping[str, Any] = dataclasses.field(default_factory=lambda: {})
    """Keys that it has beside the value's own."""
    section: str | None = None
    """Heading in docs/json.md, where that is not the command's name."""
    place: str = ""
    """Whose table there tells the keys of `root`; "" for the section's own."""


DOCUMENTS: Mapping[str, Document] = {
    "search": Document(SearchResult),
    "get": Document(GetResult),
    "list": Document(ListResult),
    "tags": Document(keys={"tags": list[Tag]}),
    "links": Document(
        keys={
            "root": str,
            "title": str,
            "hops": list[list[LinkHop]],
            "broken": list[BrokenLink],
            "left_out": int,
        }
    ),
    "links --orphans": Document(ListResult, section="list"),
    "links --broken": Document(BrokenLinks),
    "links --hubs": Document(keys={"hubs": list[Hub], "total": int}),
    "source list": Document(keys={"sources": list[SourceEntry]}),
    "source add": Document(SourceReport, section="index", place="sources[]"),
    "index": Document(SyncReport, {"embedding": EmbedReport | None}),
    "status": Document(IndexStatus),
    "doctor": Document(Examination),
    "config list": Document(keys={"config_path": str, "settings": list[SettingValue]}),
    "config get": Document(SettingValue, section="config list", place="settings[]"),
    "eval": Document(keys={"datasets": list[EvalDataset]}),
}
"""Each `--json` document by its command; `similar` prints that of `search`."""


def schema_name(command: str) -> str:
    """File of a command's schema in docs/schema/."""
    return re.sub(r"[ -]+", "-", command) + ".schema.json"


def schemas() -> dict[str, str]:
    """Text of docs/schema/*.json by file name, from the types that the documents are made of and docs/json.md."""
    page = (DOCS / "json.md").read_text(encoding="utf-8")
    return {
        schema_name(command): json.dumps(_schema(command, document, page), indent=2, ensure_ascii=False) + "\n"
        for command, document in DOCUMENTS.items()
    }


def _schema(command: str, document: Document, page: str) -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    meanings = _meanings(page, document.section or command)
    body: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    if document.root is not None:
        body = _object(document.root, definitions, meanings, document.place)
    own = {key: _type_schema(kind, definitions, meanings, key) for key, kind in document.keys.items()}
    body["properties"] |= _described(own, meanings[document.place])
    body["required"] += list(own)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"bearsearch {command} --json",
        "description": "Keys are never renamed or removed; new ones may be added.",
        **body,
        **({"$defs": definitions} if definitions else {}),
    }


def _meanings(page: str, section: str) -> dict[str, dict[str, str]]:
    """What docs/json.md says of each key of a document, by the place of its table ("" for the document's own)."""
    text = page.split(f"\n## `{section}`\n")[1].split("\n## ")[0]
    found: dict[str, dict[str, str]] = {}
    for place, rows in re.findall(r"\| key(?: of `([^`]+)`)? \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", text):
        table = found.setdefault(place, {})
        for row in rows.splitlines():
            keys, meaning = row.strip("| ").split(" | ", 1)
            names = re.findall(r"`(\w+)`", keys)
            if len(names) == 1:  # a row of several keys says nothing of one alone
                table[names[0]] = meaning.replace("`", "").replace("\\|", "|")
    return found


def _described(properties: dict[str, Any], meanings: Mapping[str, str]) -> dict[str, Any]:
    return {
        key: {"description": meanings[key], **kind} if key in meanings else kind for key, kind in properties.items()
    }


def _object(
    kind: type, definitions: dict[str, Any], meanings: Mapping[str, Mapping[str, str]], place: str
) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    names = {field.name: RENAMED.get(field.name, field.name) for field in dataclasses.fields(kind)}
    own = {
        key: _type_schema(hints[name], definitions, meanings, key)
        for name, key in names.items()
        if name not in LEFT_OUT
    }
    return {"type": "object", "properties": _described(own, meanings.get(place, {})), "required": list(own)}


def _type_schema(
    kind: Any, definitions: dict[str, Any], meanings: Mapping[str, Mapping[str, str]], place: str
) -> dict[str, Any]:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)

    def inner(part: Any, where: str = place) -> dict[str, Any]:
        return _type_schema(part, definitions, meanings, where)

    if dataclasses.is_dataclass(kind):
        assert isinstance(kind, type)
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = {}  # holds the place, so that the order is that of the documents
            definitions[kind.__name__] = _object(kind, definitions, meanings, place)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if origin in (typing.Union, types.UnionType):
        parts = [inner(part) for part in arguments if part is not type(None)]
        if type(None) in arguments:
            parts.append({"type": "null"})
        if all(list(part) == ["type"] for part in parts):
            return {"type": [part["type"] for part in parts]}
        return {"anyOf": parts}
    if origin is tuple and arguments[-1] is not ...:
        return {
            "type": "array",
            "prefixItems": [inner(part) for part in arguments],
            "minItems": len(arguments),
            "maxItems": len(arguments),
        }
    if origin in (tuple, list):
        return {"type": "array", "items": inner(arguments[0], place if place.endswith("[]") else f"{place}[]")}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": inner(arguments[1], f"{place}.*")}
    if kind is datetime:
        return {"type": "string", "format": "date-time"}
    return {"type": {str: "string", int: "integer", float: "number", bool: "boolean"}[kind]}


def main() -> None:
    """Write all of it."""
    (DOCS / "cli.md").write_text(cli_page(), encoding="utf-8")
    for name, page in (("mcp.md", mcp_page), ("settings.md", settings_page)):
        path = DOCS / name
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
    written = schemas()
    for left_over in {path.name for path in (DOCS / "schema").iterdir()} - written.keys():
        (DOCS / "schema" / left_over).unlink()
    for name, text in written.items():
        (DOCS / "schema" / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
