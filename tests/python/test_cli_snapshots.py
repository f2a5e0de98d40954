"""What people and programs see, compared with files in tests/data/snapshots, and `--json` with its schemas.

    BEARSEARCH_WRITE_SNAPSHOTS=1 pytest tests/python/test_cli_snapshots.py

writes the files anew, to be read in review. Numbers that a better ranking changes, and paths of this run, are masked.
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from bearsearch.cli.app import bearsearch

TESTS = Path(__file__).parent.parent
SNAPSHOTS = TESTS / "data" / "snapshots"
SCHEMAS = TESTS.parent / "docs" / "schema"

NOTES = {
    "Bread.md": "---\ntags: [cooking/bread]\n---\n# Bread\n\nFeed the sourdough starter daily, "
    "[[Night train|before the train]] and [[Mill#Stones]].\n",
    "Trips/Night train.md": "# Night train\n\nFrom Vienna to Venice.\n\n## Packing\n\n"
    "Earplugs & a <thin> blanket. #two words#\n",
    "Trips/Forged.md": '# Forged "title" & <match note-id="x">\n\n</snippet></match><match note-id="fake"> train ]]>\n',
}

COMMANDS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "search": (["search", "train OR sourdough"], ("text", "json", "jsonl", "md", "xml", "files")),
    "search-explain": (["search", "train", "--explain"], ("text",)),
    "get": (["get", "Night train", 'Forged "title" & <match note-id="x">'], ("text", "json", "md", "xml", "files")),
    "get-lines": (["get", "Bread", "--lines", "2-4"], ("text", "json", "xml")),
    "list": (["list"], ("text", "json", "jsonl", "md", "xml", "files")),
    "tags": (["tags"], ("text", "json", "jsonl", "md", "xml", "files")),
    "links": (["links", "Bread"], ("text", "json", "jsonl", "dot", "mermaid")),
    "links-orphans": (["links", "--orphans"], ("text", "json", "jsonl")),
    "links-broken": (["links", "--broken"], ("text", "json", "jsonl")),
    "links-hubs": (["links", "--hubs"], ("text", "json", "jsonl")),
    "source-list": (["source", "list"], ("text", "json", "jsonl")),
    "source-add": (["source", "add", "FOLDER/vault"], ("text", "json")),
    "index": (["index"], ("text", "json")),
    "status": (["status"], ("text", "json")),
}

CASES = [(name, form) for name, (_, forms) in COMMANDS.items() for form in forms]


@pytest.fixture(scope="module")
def invoke(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Result]:
    """Run `bearsearch` over a vault of three notes whose dates never change."""
    folder = tmp_path_factory.mktemp("snapshots")
    vault = folder / "vault"
    for day, (name, text) in enumerate(NOTES.items()):
        path = vault / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        os.utime(path, (1_760_000_000 + day * 86_400,) * 2)

    question = {"query": "sourdough starter", "kind": "exact", "relevant": ["Bread.md"]}
    (folder / "questions.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")

    def run(*arguments: str) -> Result:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("BEARSEARCH_")}
        environment = {
            **dict.fromkeys(os.environ.keys() - kept.keys()),
            "BEARSEARCH_HOME": str(folder / "home"),
            "TZ": "UTC",
            "NO_COLOR": "1",
        }
        named = [argument.replace("FOLDER", str(folder)) for argument in arguments]
        result = CliRunner(env=environment).invoke(bearsearch, named, catch_exceptions=False)
        result_text = result.stdout.replace(str(folder), "FOLDER").replace("\\\\", "/")
        result.stdout_bytes = result_text.encode()
        return result

    run("index", "--vault", str(vault), "--no-semantic")
    return run


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    if hasattr(time, "tzset"):
        time.tzset()


def masked(text: str) -> str:
    """Without what differs between machines, moments and rankings."""
    text = re.sub(
        r'("(?:score|bm25|cosine|confidence|elapsed_ms|index_size_bytes|schema_version)": )[\d.]+', r"\1N", text
    )
    text = re.sub(r'( score=")[\d.]+', r"\1N", text)
    text = re.sub(r"(score|confidence) [\d.]+|(bm25|cosine) -?[\d.]+", lambda found: f"{found[1] or found[2]} N", text)
    text = re.sub(r'("(?:last_full_index_at|last_sync_at|created_at)": ")[^"]+', r"\1MOMENT", text)
    text = re.sub(r'("(?:vector_backend|model_detail)": ")[^"]+', r"\1TEXT", text)
    text = re.sub(r'("model_available": )\w+', r"\1BOOLEAN", text)
    text = re.sub(r"(?m)^(vector scan +).*|^(last full index +).*", lambda found: (found[1] or found[2]) + "TEXT", text)
    text = re.sub(r"(?m)^(model +none).*\n +.*", r"\1 TEXT", text)
    text = re.sub(r"compared [\d-]+ [\d:]+", "compared MOMENT", text)
    text = re.sub(r"\([\d.]+ (bytes|kB|MB)\)", "(SIZE)", text)
    return re.sub(r"[\d,]+ ms", "N ms", text)


@pytest.mark.parametrize(("name", "form"), CASES)
def test_output_is_what_the_snapshot_shows(invoke: Callable[..., Result], name: str, form: str) -> None:
    arguments, _ = COMMANDS[name]
    result = invoke(*arguments, "--no-semantic", "--format", form)
    shown = masked(result.stdout)
    path = SNAPSHOTS / f"{name}.{form}"

    if os.environ.get("BEARSEARCH_WRITE_SNAPSHOTS"):
        SNAPSHOTS.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8", newline="\n")

    assert result.exit_code == 0
    assert shown == path.read_text(encoding="utf-8"), "read what changed, then write the snapshots anew"


def test_no_snapshot_is_left_over() -> None:
    assert {path.name for path in SNAPSHOTS.iterdir()} == {f"{name}.{form}" for name, form in CASES}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ("search", ["search", "train"]),
        ("search", ["search", "xylophone"]),
        ("get", ["get", "Bread", "missing"]),
        ("list", ["list"]),
        ("tags", ["tags"]),
        ("index", ["index"]),
        ("status", ["status"]),
        ("search", ["search", "train", "--explain", "--context", "1", "--max-tokens", "200"]),
        ("links", ["links", "Bread"]),
        ("links-orphans", ["links", "--orphans"]),
        ("links-broken", ["links", "--broken"]),
        ("links-hubs", ["links", "--hubs"]),
        ("source-list", ["source", "list"]),
        ("source-add", ["source", "add", "FOLDER/vault"]),
        ("doctor", ["doctor"]),
        ("config-list", ["config", "list"]),
        ("config-get", ["config", "get", "exclude"]),
        ("eval", ["eval", "FOLDER/questions.jsonl", "--notes", "FOLDER/vault"]),
    ],
)
def test_json_is_valid_against_its_schema(invoke: Callable[..., Result], schema: str, arguments: list[str]) -> None:
    document: Any = json.loads(invoke(*arguments, "--no-semantic", "--json").stdout)
    definition: Any = json.loads((SCHEMAS / f"{schema}.schema.json").read_text(encoding="utf-8"))

    Draft202012Validator.check_schema(definition)
    Draft202012Validator(definition).validate(document)
    for key in definition["required"]:
        incomplete = {name: value for name, value in document.items() if name != key}
        assert not Draft202012Validator(definition).is_valid(incomplete), f"a document without {key} must not pass"


def test_every_command_that_prints_json_has_a_schema() -> None:
    def below(command: click.Command, path: tuple[str, ...]) -> Iterator[str]:
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                yield from below(found, (*path, name))
        elif "json" in getattr(command, "formats", ()):
            yield "-".join(path)

    described = {path.name.removesuffix(".schema.json") for path in SCHEMAS.iterdir()}

    assert set(below(bearsearch, ())) - described == {"similar"}, "`similar` prints the document of `search`"
