"""Links through the service and the command line: a small folder of notes, and a Bear library."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bearsearch import Index, UsageError
from bearsearch.cli.app import bearsearch

Run = Callable[..., Result]

NOTES = {
    "Bread.md": "# Bread\n\nSee [[Night train|the train]] and [[Missing]]. `[[code]]`\n",
    "Trips/Night train.md": "# Night train\n\n[[Bread]] [flour](../Flour.md) [[Bread]]\n",
    "Flour.md": '# "Flour" <b>\n\n![[Mill#Stones]]\n',
    "Mill.md": "# Mill\n\n## Stones\n",
    "Alone.md": "# Alone\n\n%% [[no]] %%\n",
}


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """Five notes; `Bread -> Night train -> Flour -> Mill`, and one alone."""
    root = tmp_path / "linked"
    for name, text in NOTES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def run(home: Path, linked: Path) -> Run:
    def invoke(*arguments: str) -> Result:
        command = ["links", *arguments, "--vault", str(linked), "--no-semantic"]
        return CliRunner().invoke(bearsearch, command, catch_exceptions=False)

    return invoke


def document_of(result: Result) -> Any:
    return json.loads(result.stdout)


def test_a_walk_stops_at_its_depth(home: Path, linked: Path) -> None:
    with Index(vault=linked, semantic=False) as index:
        reached = [
            {hop.to_title for hops in found.hops for hop in hops}
            for depth in (1, 2, 3)
            if (found := index.links("Bread", depth=depth, direction="out")) is not None
        ]
    assert reached == [{"Night train"}, {"Night train", '"Flour" <b>'}, {"Night train", '"Flour" <b>', "Mill"}]


def test_the_tree_shows_each_step_with_its_text_and_line(run: Run) -> None:
    result = run("Bread", "--depth", "3", "--direction", "out")

    assert result.exit_code == 0
    assert result.stdout == (
        "Bread  linked:Bread.md\n"
        '└─→ Night train  "the train", line 3, linked:Trips/Night train.md\n'
        '   └─→ "Flour" <b>  "flour", line 3, path, linked:Flour.md\n'
        "      └─→ Mill  #Stones, line 3, embed, linked:Mill.md\n"
        "broken: Missing (line 3)\n"
    )
    assert "3 steps" in result.stderr


def test_both_directions_are_followed_unless_one_is_asked_for(run: Run) -> None:
    hops = document_of(run("Bread.md", "--json"))["hops"]

    assert [(hop["from_title"], hop["to_title"], hop["direction"], hop["count"]) for hop in hops[0]] == [
        ("Bread", "Night train", "out", 1),
        ("Night train", "Bread", "in", 2),
    ]
    backwards = document_of(run("Bread.md", "--json", "--direction", "in"))
    assert [hop["direction"] for hop in backwards["hops"][0]] == ["in"]
    assert backwards["broken"] == []


def test_one_step_per_line_as_jsonl(run: Run) -> None:
    lines = run("Bread", "--depth", "2", "--format", "jsonl").stdout.splitlines()

    assert [json.loads(line)["to_title"] for line in lines] == ["Night train", "Bread", '"Flour" <b>']


def test_graphviz_and_mermaid_say_the_same_and_escape_titles(run: Run) -> None:
    dot = run("Night train", "--format", "dot", "--direction", "out").stdout
    mermaid = run("Night train", "--format", "mermaid", "--direction", "out").stdout

    assert dot.startswith("digraph links {\n")
    assert dot.endswith("}\n")
    assert '  n2 [label="\\"Flour\\" <b>", tooltip="linked:Flour.md"];\n' in dot
    assert '  n0 -> n2 [label="flour"];\n' in dot
    assert mermaid.startswith("flowchart LR\n")
    assert '  n2["#quot;Flour#quot; #lt;b#gt;"]\n' in mermaid
    assert '  n0 -->|"flour"| n2\n' in mermaid


def test_reports_name_orphans_broken_links_and_hubs(run: Run) -> None:
    assert [note["id"] for note in document_of(run("--orphans", "--json"))["notes"]] == ["Alone.md"]
    [broken] = document_of(run("--broken", "--json"))["links"]
    assert (broken["from"], broken["target"], broken["line"]) == ("linked:Bread.md", "Missing", 3)
    hubs = document_of(run("--hubs", "--json", "--limit", "1"))
    assert [(hub["title"], hub["incoming"], hub["outgoing"]) for hub in hubs["hubs"]] == [("Night train", 1, 2)]
    assert hubs["total"] == 4
    assert run("--broken").stdout == "Missing  in Bread, line 3  linked:Bread.md\n"
    assert run("--hubs", "--limit", "1").stdout == "    1 in     2 out  Night train  linked:Trips/Night train.md\n"
    assert run("--orphans").stdout.endswith("Alone  linked:Alone.md\n")


def test_a_note_that_is_not_there_is_exit_code_1_and_says_so(run: Run) -> None:
    result = run("Nowhere")

    assert (result.exit_code, result.stdout) == (1, "")
    assert "no note has the id or title 'Nowhere'" in result.stderr


def test_a_note_without_links_is_exit_code_1_and_a_valid_document(run: Run) -> None:
    result = run("Alone", "--json")

    assert result.exit_code == 1
    assert document_of(result) == {
        "root": "linked:Alone.md", "title": "Alone", "hops": [], "broken": [], "left_out": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("Bread", "--broken"),
        ("--hubs", "--format", "dot"),
        ("Bread", "--depth", "0"),
        ("Bread", "--depth", "4"),
        ("Bread", "--limit", "0"),
    ],
)
def test_a_call_without_meaning_is_exit_code_2(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2


def test_a_title_that_two_notes_have_is_refused_with_both_names(home: Path, linked: Path) -> None:
    (linked / "Copy.md").write_text("# Bread\n", encoding="utf-8")
    with Index(vault=linked, semantic=False) as index, pytest.raises(UsageError, match=r"linked:Bread\.md"):
        index.links("bread")


def test_a_step_that_is_left_out_is_said(run: Run) -> None:
    result = run("Bread", "--depth", "3", "--limit", "1")

    assert "1 step" in result.stderr
    assert "more steps are left out" in result.stderr


def test_the_links_of_a_bear_library_lead_by_identifier(home: Path, bear_db: Path) -> None:
    with Index(db=bear_db, semantic=False) as index:
        hubs = index.hubs(limit=1)
        found = index.links(f"{hubs.hubs[0].note.source}:{hubs.hubs[0].note.id}", depth=2)
    assert found is not None
    assert sum(len(hops) for hops in found.hops) >= hubs.hubs[0].incoming
