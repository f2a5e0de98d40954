"""The MCP tool that follows links, through an official client in this process."""

from pathlib import Path
from typing import Any

import pytest

from mcp_support import data_of, in_memory, opener, run, text_of


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """160 notes that a hub links to, one of which links on."""
    root = tmp_path / "chain"
    root.mkdir()
    links = " ".join(f"[[leaf {number:03}|a rather long text for leaf number {number}]]" for number in range(160))
    (root / "hub.md").write_text(f"# Hub\n\n{links} [[nowhere]]\n", encoding="utf-8")
    for number in range(160):
        text = "[[end]]" if number == 0 else "nothing"
        (root / f"leaf {number:03}.md").write_text(f"# leaf {number:03}\n\n{text}\n", encoding="utf-8")
    (root / "end.md").write_text("# The \u200bend\n", encoding="utf-8")
    return root


def call(tmp_path: Path, chain: Path, **arguments: Any) -> Any:
    async def work() -> Any:
        async with in_memory(opener(tmp_path, vault=chain)) as client:
            return await client.call_tool("note_links", arguments)

    return run(work())


def test_links_are_told_by_distance_with_ids_for_note_get(home: Path, tmp_path: Path, chain: Path) -> None:
    result = call(tmp_path, chain, note="leaf 000", depth=2)
    data = data_of(result)

    assert data["root"] == "chain:leaf 000.md"
    assert [(hop["from"], hop["to"], hop["direction"]) for hop in data["hops"][0]] == [
        ("chain:leaf 000.md", "chain:end.md", "out"),
        ("chain:hub.md", "chain:leaf 000.md", "in"),
    ]
    assert "a rather long text for leaf number 0" in text_of(result)
    assert "\u27e8U+200B\u27e9" in text_of(result)


def test_a_reply_stays_small_and_says_what_it_leaves_out(home: Path, tmp_path: Path, chain: Path) -> None:
    result = call(tmp_path, chain, note="hub", direction="out", limit=1000, depth=3)
    data = data_of(result)

    told = sum(len(hops) for hops in data["hops"])
    assert told + data["left_out"] == 161
    assert data["left_out"] > 0
    assert f"{data['left_out']} more steps are left out" in text_of(result)
    assert [link["target"] for link in data["broken"]] == ["nowhere"]


def test_a_note_that_is_not_there_is_an_error_that_says_what_to_do(home: Path, tmp_path: Path, chain: Path) -> None:
    result = call(tmp_path, chain, note="no such note")

    assert result.is_error
    assert "find it with note_search" in text_of(result)
