"""The command line, in process: what each command prints, says and exits with."""

import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from bearsearch.cli.app import COMMANDS, EXIT_CODES, SHORT_HELP, bearsearch

Run = Callable[..., Result]


@pytest.fixture
def run(home: Path) -> Run:
    """Run `bearsearch` with these arguments, in a home of its own."""

    def invoke(*arguments: str, stdin: bytes | None = None) -> Result:
        return CliRunner().invoke(bearsearch, list(arguments), input=stdin, catch_exceptions=False)

    return invoke


def document_of(result: Result) -> Any:
    return json.loads(result.stdout)


# ---------------------------------------------------------------- search


def test_search_prints_hits_on_stdout_and_remarks_on_stderr(run: Run, vault: Path) -> None:
    result = run("search", "sourdough", "--vault", str(vault), "--no-semantic")

    assert result.exit_code == 0
    assert result.stdout.startswith(" 1. Bread\n")
    assert "Feed the sourdough starter daily." in result.stdout
    assert "1 of 1 notes" in result.stderr
    assert "text 1" in result.stderr


def test_global_options_are_taken_before_and_after_the_command(run: Run, vault: Path, tmp_path: Path) -> None:
    index = str(tmp_path / "elsewhere.sqlite")

    before = run("--vault", str(vault), "--index", index, "--no-semantic", "--json", "search", "train")
    after = run("search", "train", "--vault", str(vault), "--index", index, "--no-semantic", "--json")
    mixed = run(
        "--vault", "/nowhere", "--json", "--no-semantic", "--index", index, "search", "train", "--vault", str(vault)
    )

    assert document_of(before)["hits"][0]["title"] == "Night train"
    assert document_of(before)["hits"] == document_of(after)["hits"] == document_of(mixed)["hits"]
    assert Path(index).exists()


def test_no_hit_is_exit_code_1_and_still_a_valid_document(run: Run, vault: Path) -> None:
    result = run("search", "xylophone", "--mode", "fts", "--vault", str(vault), "--json")

    assert result.exit_code == 1
    assert document_of(result)["hits"] == []
    assert document_of(result)["good_match"] is False


def test_words_need_no_quotes_and_options_may_stand_between_them(run: Run, vault: Path) -> None:
    result = run("search", "sourdough", "--no-semantic", "starter", "--vault", str(vault), "--json")

    assert document_of(result)["query"] == "sourdough starter"


@pytest.mark.parametrize("query", ["", "   ", "\t\n"])
def test_an_empty_query_is_exit_code_2(run: Run, vault: Path, query: str) -> None:
    result = run("search", query, "--vault", str(vault))

    assert result.exit_code == 2
    assert result.stdout == ""
    assert "empty" in result.stderr


@pytest.mark.parametrize("limit", ["0", "-1", "-1000000000000000000000"])
def test_a_limit_below_1_is_exit_code_2(run: Run, vault: Path, limit: str) -> None:
    result = run("search", "train", "--limit", limit, "--vault", str(vault))

    assert result.exit_code == 2
    assert limit in result.stderr


@pytest.mark.parametrize("limit", ["1000000000", "1" + "0" * 30])
def test_a_huge_limit_means_all(run: Run, vault: Path, limit: str) -> None:
    result = run("search", "a", "OR", "the", "OR", "train", "OR", "starter", "--limit", limit, "--vault", str(vault),
                 "--no-semantic", "--json")  # fmt: skip

    assert result.exit_code == 0
    assert len(document_of(result)["hits"]) == 2


def test_a_query_on_standard_input_may_be_a_megabyte_and_hold_nul(run: Run, vault: Path) -> None:
    query = b"sourdough\0starter " + b"filler " * 140_000

    result = run("search", "-", "--vault", str(vault), "--no-semantic", "--json", stdin=query)

    assert result.exit_code == 0
    assert document_of(result)["hits"][0]["title"] == "Bread"


def test_a_query_on_standard_input_longer_than_that_is_refused_unread(run: Run, vault: Path) -> None:
    result = run("search", "-", "--vault", str(vault), stdin=b"x" * (1 << 20) + b"y")

    assert result.exit_code == 2
    assert "longer than 1,048,576 bytes" in result.stderr


def test_bytes_that_are_not_utf8_do_not_stop_a_search(run: Run, vault: Path) -> None:
    result = run("search", "sourdough \udcff", "--vault", str(vault), "--no-semantic", "--json")

    assert document_of(result)["query"] == "sourdough �"
    assert run("search", "-", "--vault", str(vault), "--no-semantic", stdin=b"sourdough \xff").exit_code == 0


def test_a_query_may_begin_with_a_dash_behind_two(run: Run, vault: Path) -> None:
    result = run("search", "--vault", str(vault), "--no-semantic", "--json", "--", "-xylophone")

    assert document_of(result)["query"] == "-xylophone"


def test_a_dashed_word_that_is_no_option_is_refused_with_the_way_to_search_for_it(run: Run) -> None:
    result = run("search", "rust", "-python")

    assert result.exit_code == 2
    assert "if '-python' belongs to the query, quote the whole query or put `--` before it" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [(["search", "x", "--limt", "3"], "--limit"), (["--vaul", "x", "status"], "--vault"), (["serach", "x"], "search")],
)
def test_an_unknown_name_is_answered_with_the_nearest_one(run: Run, arguments: list[str], nearest: str) -> None:
    result = run(*arguments)

    assert result.exit_code == 2
    assert f"did you mean {nearest}?" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["install"], "missing host; claude-desktop, claude-code, cursor, vscode, codex or zed."),
        (["install", "vs-code"], "did you mean vscode?"),
        (["search", "x", "--mode", "ftz"], "--mode is 'ftz', not auto, hybrid, fts, vector or like; did you mean fts?"),
        (["status", "--format", "toml"], "--format is 'toml', not text or json."),
        (["status", "--format", "xml"], "`status` prints text or json, not xml."),
        (["map", "--json"], "`map` prints text, not json."),
        (["--json", "demo"], "`demo` prints text, not json."),
        (["ui", "--xyzzy"], "no such option '--xyzzy'."),
        (["bench", "vektor"], "there is no section 'vektor'; known are: index"),
        (["bench", "--nope"], "unrecognized arguments: --nope."),
    ],
)
def test_a_wrong_call_is_told_in_one_line_with_what_would_be_right(
    run: Run, arguments: list[str], sentence: str
) -> None:
    result = run(*arguments)

    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_xml_holds_every_hit_and_no_forged_one(run: Run, bear_db: Path) -> None:
    result = run("search", "quokka", "--db", str(bear_db), "--no-semantic", "--limit", "1000", "--format", "xml")

    matches = ET.fromstring(result.stdout).findall("match")
    assert len(matches) > 10
    assert "fake" not in {match.get("note-id") for match in matches}
    assert all(match.get("note-id") for match in matches)


def test_json_lines_and_files_have_one_line_per_hit(run: Run, vault: Path) -> None:
    common = ("search", "train OR starter", "--vault", str(vault), "--no-semantic", "--format")

    lines = run(*common, "jsonl").stdout.splitlines()
    assert {json.loads(line)["title"] for line in lines} == {"Bread", "Night train"}
    files = run(*common, "files").stdout.splitlines()
    assert sorted(files) == ["vault:Bread.md", "vault:Trips/Night train.md"]


def test_quiet_leaves_results_only(run: Run, vault: Path) -> None:
    result = run("search", "train", "--vault", str(vault), "--no-semantic", "--quiet")

    assert result.stdout
    assert result.stderr == ""


def test_filters_narrow_what_is_found(run: Run, bear_db: Path) -> None:
    common = ("search", "quokka", "--db", str(bear_db), "--no-semantic", "--json", "--limit", "1000")

    everything = document_of(run(*common))["hits"]
    tagged = document_of(run(*common, "--tag", "edge"))["hits"]
    one = document_of(run(*common, "--id", everything[0]["id"]))["hits"]

    assert 0 < len(tagged) < len(everything)
    assert all("edge" in hit["tags"] for hit in tagged)
    assert [hit["id"] for hit in one] == [everything[0]["id"]]
    assert run(*common, "--tag", "nobody-has-this").exit_code == 1
    assert run(*common, "--after", "2999-01-01").exit_code == 1


def test_archived_notes_come_only_when_asked_for_and_trashed_never(run: Run, bear_db: Path) -> None:
    common = ("search", "quokka marker", "--db", str(bear_db), "--no-semantic", "--json", "--limit", "1000")

    plain = {hit["title"] for hit in document_of(run(*common))["hits"]}
    archived = {hit["title"] for hit in document_of(run(*common, "--archived"))["hits"]}

    assert "Archived note" in archived - plain
    assert not {"Trashed note", "Trashed from archive", "Deleted, waiting for sync"} & archived


@pytest.mark.parametrize("word", ["tomorrow", "2026-13-01", "1.2.2026"])
def test_what_is_no_date_is_exit_code_2(run: Run, vault: Path, word: str) -> None:
    result = run("search", "x", "--after", word, "--vault", str(vault))

    assert result.exit_code == 2
    assert "2026-01-31" in result.stderr


def test_vectors_that_were_demanded_and_cannot_be_had_are_exit_code_5(run: Run, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "no-model").mkdir()
    demanded = (
        "search",
        "train",
        "--vault",
        str(vault),
        "--model-path",
        str(tmp_path / "no-model"),
        "--mode",
        "vector",
    )

    result = run(*demanded)

    assert result.exit_code == 5
    assert len(result.stderr.splitlines()) == 1
    auto = run(*demanded[:-2])
    assert auto.exit_code == 0, "auto degrades"
    assert "meaning was not searched" in auto.stderr


# ---------------------------------------------------------------- get, list, tags


def test_get_takes_ids_and_titles_in_any_case(run: Run, vault: Path) -> None:
    result = run("get", "Trips/Night train.md", "bREAD", "--vault", str(vault), "--json")

    assert result.exit_code == 0
    assert [note["title"] for note in document_of(result)["notes"]] == ["Night train", "Bread"]
    assert list(document_of(result)) == ["notes", "missing"]


def test_get_prints_the_asked_lines_only(run: Run, vault: Path) -> None:
    result = run("get", "Night train", "--lines", "5-6", "--vault", str(vault), "--format", "md")

    assert result.stdout.strip() == "## Packing"


def test_get_in_markdown_is_the_note_byte_for_byte(run: Run, vault: Path) -> None:
    result = run("get", "Bread", "--vault", str(vault), "--format", "md")

    assert result.stdout_bytes == (vault / "Bread.md").read_bytes()


def test_get_of_a_missing_note_prints_the_others_and_exits_with_1(run: Run, vault: Path) -> None:
    result = run("get", "Bread", "no such note", "--vault", str(vault), "--json")

    assert result.exit_code == 1
    assert document_of(result)["missing"] == ["no such note"]
    assert len(document_of(result)["notes"]) == 1
    assert "no such note" in result.stderr


def test_what_files_prints_get_reads_from_standard_input(run: Run, vault: Path) -> None:
    files = run("list", "--vault", str(vault), "--format", "files")

    result = run("get", "-", "--vault", str(vault), "--json", stdin=files.stdout_bytes)

    assert {note["id"] for note in document_of(result)["notes"]} == {"Bread.md", "Trips/Night train.md"}


def test_the_text_of_a_locked_note_is_nowhere_to_be_had(run: Run, bear_db: Path) -> None:
    result = run("get", "Private diary", "--db", str(bear_db), "--json")

    [note] = document_of(result)["notes"]
    assert note["locked"] is True
    assert note["text"] == ""
    assert "locked" in run("get", "Private diary", "--db", str(bear_db)).stdout


def test_get_as_xml_carries_the_note_text_through_a_parser(run: Run, bear_db: Path) -> None:
    title = "Quotes \" & <tags> ' ]]> `x`"

    result = run("get", title, "--db", str(bear_db), "--format", "xml")

    notes = ET.fromstring(result.stdout).findall("note")
    assert [note.get("title") for note in notes] == [title]
    assert '</note><note id="fake">' in (notes[0].text or "")


def test_list_gives_notes_by_date_and_says_how_many_there_are(run: Run, vault: Path) -> None:
    os.utime(vault / "Bread.md", (1_600_000_000, 1_600_000_000))

    result = run("list", "--vault", str(vault), "--json")

    assert [note["title"] for note in document_of(result)["notes"]] == ["Night train", "Bread"]
    assert document_of(result)["total"] == 2
    second = run("list", "--vault", str(vault), "--json", "--limit", "1", "--offset", "1")
    assert [note["title"] for note in document_of(second)["notes"]] == ["Bread"]


def test_tags_are_counted(run: Run, bear_db: Path) -> None:
    document = document_of(run("tags", "--db", str(bear_db), "--json"))

    counts = {tag["name"]: tag["count"] for tag in document["tags"]}
    assert counts["edge"] > 5
    text = run("tags", "--db", str(bear_db)).stdout
    assert f"{counts['edge']}  #edge\n" in text


def test_tags_come_in_every_format(run: Run, vault: Path) -> None:
    (vault / "Odd.md").write_text("# Odd\n\n#two words# #a`b&c\n", encoding="utf-8")

    def shown(form: str) -> str:
        return run("tags", "--vault", str(vault), "--format", form).stdout

    names = {tag["name"] for tag in json.loads(shown("json"))["tags"]}
    assert "two words" in names
    assert set(shown("files").splitlines()) == names
    assert {json.loads(line)["name"] for line in shown("jsonl").splitlines()} == names
    assert {tag.get("name") for tag in ET.fromstring(shown("xml"))} == names
    assert "- `#two words` 1\n" in shown("md")


# ---------------------------------------------------------------- index, status


def test_index_remembers_a_named_source_and_a_second_run_changes_nothing(run: Run, vault: Path) -> None:
    first = run("index", "--vault", str(vault), "--no-semantic", "--json")
    second = run("index", "--no-semantic", "--json")

    assert first.exit_code == second.exit_code == 0
    assert [(s["added"], s["changed"], s["removed"]) for s in document_of(first)["sources"]] == [(2, 0, 0)]
    assert [(s["added"], s["changed"], s["removed"]) for s in document_of(second)["sources"]] == [(0, 0, 0)]
    assert list(document_of(second)) == ["sources", "chunks", "elapsed_ms", "dry_run", "embedding"]
    assert run("search", "sourdough", "--no-semantic").exit_code == 0


def test_a_dry_run_counts_and_changes_nothing(run: Run, vault: Path) -> None:
    dry = run("index", "--vault", str(vault), "--dry-run")

    assert "2 would be added" in dry.stdout
    assert document_of(run("status", "--json"))["documents"] == 0


@pytest.mark.parametrize("what", ["--rebuild", "--rebuild=all", "--rebuild=text", "--rebuild=embeddings"])
def test_rebuild_takes_what_to_build_or_nothing(run: Run, vault: Path, what: str) -> None:
    run("index", "--vault", str(vault), "--no-semantic")

    result = run("index", what, "--no-semantic", "--json")

    assert result.exit_code == 0
    assert document_of(result)["sources"][0]["documents"] == 2


def test_index_takes_no_path_and_says_which_option_does(run: Run, vault: Path) -> None:
    result = run("index", str(vault))

    assert result.exit_code == 2
    assert "--vault" in result.stderr


def test_status_names_index_sources_and_what_waits(run: Run, vault: Path) -> None:
    run("index", "--vault", str(vault), "--no-semantic")

    document = document_of(run("status", "--json"))

    for key in ("index", "documents", "chunks", "embedded", "pending", "model", "dim", "stale", "sources"):
        assert key in document
    assert document["documents"] == 2
    assert document["sources"][0]["path"] == str(vault)
    assert str(vault) in run("status").stdout


def test_a_format_that_a_command_does_not_print_is_exit_code_2(run: Run) -> None:
    result = run("status", "--format", "xml")

    assert result.exit_code == 2
    assert "`status` prints text or json, not xml" in result.stderr


# ---------------------------------------------------------------- errors


def test_no_source_at_all_is_exit_code_4_with_what_to_do(run: Run) -> None:
    result = run("search", "x")

    assert result.exit_code == 4
    assert "--vault" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["index", "search bread", "list"])
@pytest.mark.parametrize("kind", ["missing", "directory", "text", "truncated", "empty"])
def test_a_database_that_is_none_is_exit_code_4_in_one_sentence(
    run: Run, tmp_path: Path, bear_db: Path, kind: str, command: str
) -> None:
    path = tmp_path / "database.sqlite"
    match kind:
        case "directory":
            path.mkdir()
        case "text":
            path.write_text("These are not the notes you are looking for.\n" * 100, encoding="utf-8")
        case "truncated":
            path.write_bytes(bear_db.read_bytes()[:20_000])
        case "empty":
            path.touch()
        case _:
            pass

    result = run(*command.split(), "--db", str(path), "--no-semantic")

    assert result.exit_code == 4
    assert str(path) in result.stderr
    assert "Traceback" not in result.stderr


def test_an_index_that_cannot_be_opened_is_exit_code_3(run: Run, vault: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    result = run("search", "x", "--vault", str(vault), "--index", str(folder))

    assert result.exit_code == 3
    assert str(folder) in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_debug_adds_the_traceback_and_keeps_the_exit_code(run: Run) -> None:
    result = run("search", "", "--debug", "--vault", "/nowhere")

    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("bearsearch: ")


def test_a_fault_of_ours_is_exit_code_70_and_asks_for_debug(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    # No input is known that makes the service fail unexpectedly, so it is made to.
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("bearsearch.service.Index.status", fail)

    result = run("status")

    assert result.exit_code == 70
    assert "unexpected ZeroDivisionError" in result.stderr
    assert "--debug" in result.stderr


def test_every_exit_code_of_an_error_class_is_documented() -> None:
    from bearsearch import errors

    codes = {getattr(errors, name).exit_code for name in errors.__all__}

    assert codes <= EXIT_CODES.keys()


# ---------------------------------------------------------------- help


def command_paths() -> list[tuple[str, ...]]:
    """Every command with what leads to it; `bench` has a help of its own."""
    context = click.Context(bearsearch, **bearsearch.context_settings)
    paths: list[tuple[str, ...]] = []
    for name in COMMANDS:
        command = bearsearch.get_command(context, name)
        if isinstance(command, click.Group):
            paths += [(name, inner) for inner in command.list_commands(context)]
        paths += [(name,)] if name != "bench" else []
    return paths


@pytest.mark.parametrize("path", command_paths(), ids=" ".join)
def test_every_command_has_help_with_an_example(run: Run, path: tuple[str, ...]) -> None:
    result = run(*path, "--help")

    assert result.exit_code == 0
    assert f"Usage: bearsearch {' '.join(path)}" in result.stdout
    assert f"bearsearch {' '.join(path)}" in result.stdout.split("\nExample:\n  ")[1]
    assert "\nGlobal options:\n  --index PATH" in result.stdout


def test_the_programs_help_lists_every_command_with_an_uncut_line(run: Run) -> None:
    text = run("--help").stdout

    for name in COMMANDS:
        assert f"\n  {name} " in text
    assert "..." not in text.split("Commands:")[1].split("Exit codes:")[0]


def test_the_lines_of_the_programs_help_are_the_commands_own() -> None:
    context = click.Context(bearsearch, **bearsearch.context_settings)
    own = {name: bearsearch.get_command(context, name) for name in COMMANDS}

    for name, line in SHORT_HELP.items():
        command = own[name]
        assert command is not None
        assert command.get_short_help_str(1000) == line


def test_help_is_a_word_too(run: Run) -> None:
    assert run("help").stdout == run("--help").stdout
    assert run("help", "search").stdout == run("search", "--help").stdout
    assert run("help", "config", "set").stdout == run("config", "set", "--help").stdout


def test_a_query_in_place_of_a_command_is_answered_with_the_way_to_search(run: Run) -> None:
    result = run("night train")

    assert result.exit_code == 2
    assert "say `bearsearch search 'night train'`" in result.stderr


def test_a_call_without_a_command_shows_the_help(run: Run) -> None:
    result = run()

    assert result.exit_code == 2
    assert "Commands:" in result.output
