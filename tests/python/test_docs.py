"""The documentation of the doors says what they do: generated pages are fresh, and every key is explained."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bearsearch import types

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_command_line_page_is_what_help_says(generate: ModuleType) -> None:
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == generate.cli_page(), "run `python docs/generate.py`"


def test_the_tools_in_the_mcp_page_are_those_of_the_server(generate: ModuleType) -> None:
    page = (DOCS / "mcp.md").read_text(encoding="utf-8")

    assert page == generate.mcp_page(page), "run `python docs/generate.py`"


def test_the_settings_page_lists_every_setting(generate: ModuleType) -> None:
    page = (DOCS / "settings.md").read_text(encoding="utf-8")

    assert page == generate.settings_page(page), "run `python docs/generate.py`"


def test_the_schemas_are_those_of_the_types(generate: ModuleType) -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "schema").iterdir()}

    assert written == generate.schemas(), "run `python docs/generate.py`"


def explained(section: str, heading: str) -> set[str]:
    """The keys in a table of docs/json.md."""
    page = (DOCS / "json.md").read_text(encoding="utf-8")
    text = page.split(f"\n## `{section}`\n")[1].split("\n## ")[0]
    table = text.split(f"| {heading} | meaning |\n|---|---|\n")[1].split("\n\n")[0]
    return {key for row in table.splitlines() for key in re.findall(r"`(\w+)`", row.split(" | ")[0])}


def fields(value: Any) -> set[str]:
    return {name for name in value.__dataclass_fields__ if name not in {"notices", "highlights", "place"}}


def renamed(value: Any) -> set[str]:
    return {name.removesuffix("_note") for name in fields(value)}


@pytest.mark.parametrize(
    ("section", "heading", "keys"),
    [
        ("search", "key", fields(types.SearchResult)),
        ("search", "key of `legs.*`", fields(types.Leg)),
        ("search", "key of `index`", fields(types.IndexState)),
        ("search", "key of `hits[]`", fields(types.Hit)),
        ("search", "key of `context[]`", fields(types.Passage)),
        ("search", "key of `corrections[]`", fields(types.Correction)),
        ("search", "key of `explanation`", fields(types.Explanation)),
        ("search", "key of `hits[].explanation`", fields(types.HitExplanation)),
        ("get", "key", fields(types.GetResult)),
        ("get", "key of `notes[]`", fields(types.Note)),
        ("list", "key", fields(types.ListResult)),
        ("tags", "key of `tags[]`", fields(types.Tag)),
        ("links", "key", {"root", "title", "hops", "broken", "left_out"}),
        ("links", "key of `hops[]`", renamed(types.LinkHop)),
        ("links", "key of `broken[]`", renamed(types.BrokenLink)),
        ("links --broken", "key", fields(types.BrokenLinks)),
        ("links --broken", "key of `links[]`", renamed(types.BrokenLink)),
        ("links --hubs", "key", fields(types.Hubs)),
        ("links --hubs", "key of `hubs[]`", fields(types.NoteSummary) | {"incoming", "outgoing"}),
        ("source list", "key", {"sources"}),
        ("source list", "key of `sources[]`", fields(types.SourceEntry)),
        ("index", "key", fields(types.SyncReport) | {"embedding"}),
        ("index", "key of `sources[]`", fields(types.SourceReport)),
        ("index", "key of `embedding`", fields(types.EmbedReport)),
        ("status", "key", fields(types.IndexStatus)),
        ("status", "key of `background`", fields(types.BackgroundStatus)),
        ("status", "key of `sources[]`", fields(types.SourceStatus)),
        ("doctor", "key", fields(types.Examination)),
        ("doctor", "key of `checks[]`", fields(types.Check)),
        ("config list", "key", {"config_path", "settings"}),
        ("config list", "key of `settings[]`", fields(types.SettingValue)),
    ],
)
def test_every_key_is_explained_and_none_is_invented(section: str, heading: str, keys: set[str]) -> None:
    assert explained(section, heading) == keys
