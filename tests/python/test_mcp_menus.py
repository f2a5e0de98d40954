"""What a person picks from a program's menus: resources, prompts, and completions while typing."""

from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import PromptReference, ResourceTemplateReference, TextContent, TextResourceContents

from mcp_support import ERAS, data_of, in_memory, opener, run


async def read(client: Any, uri: str) -> str:
    [content] = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    assert content.mime_type == "text/markdown"
    return content.text


@pytest.mark.parametrize("era", ERAS)
def test_notes_are_resources_that_are_listed_and_read(home: Path, tmp_path: Path, vault: Path, era: str) -> None:
    async def work() -> tuple[dict[str, str], list[str]]:
        async with in_memory(opener(tmp_path, vault=vault), era=era) as client:
            listed = (await client.list_resources()).resources
            return {str(one.title): str(one.uri) for one in listed}, [await read(client, one.uri) for one in listed]

    listed, texts = run(work())
    assert listed == {"Bread": "note://vault/Bread.md", "Night train": "note://vault/Trips/Night%20train.md"}
    assert sorted(text.splitlines()[0] for text in texts) == ["# Bread", "# Night train"]


def test_a_note_is_read_by_id_alone_and_locked_ones_stay_closed(home: Path, tmp_path: Path, bear_db: Path) -> None:
    async def work() -> tuple[str, str]:
        async with in_memory(opener(tmp_path, db=bear_db)) as client:
            listed = data_of(await client.call_tool("note_list", {"limit": 1000}))["notes"]
            locked = next(note for note in listed if note["locked"])
            open_one = next(note for note in listed if not note["locked"] and note["title"] == "Same title")
            return await read(client, f"bear://note/{locked['id']}"), await read(
                client, f"bear://note/{open_one['id']}"
            )

    locked, text = run(work())
    assert locked == "This note is locked: its text is encrypted and never read.\n"
    assert text


@pytest.mark.parametrize(
    "uri", ["bear://note/nowhere", "note://vault/../../etc/passwd", "note://vault/%2e%2e%2fx", "x://y"]
)
def test_what_is_no_note_is_a_protocol_error(home: Path, tmp_path: Path, vault: Path, uri: str) -> None:
    async def work() -> int:
        async with in_memory(opener(tmp_path, vault=vault)) as client:
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            return caught.value.error.code

    assert run(work()) == -32602


def test_every_source_has_a_template(home: Path, tmp_path: Path, vault: Path, bear_db: Path) -> None:
    async def work() -> list[str]:
        async with in_memory(opener(tmp_path, vault=vault, db=bear_db)) as client:
            await client.call_tool("index_sync", {})
            return [one.uri_template for one in (await client.list_resource_templates()).resource_templates]

    first, *others = run(work())
    assert first == "bear://note/{note_id}"
    assert "note://vault/{+note_id}" in others
    assert len(others) == 2


@pytest.mark.parametrize("era", ERAS)
def test_prompts_are_described_and_carry_what_was_typed(home: Path, tmp_path: Path, era: str) -> None:
    async def work() -> tuple[Any, str]:
        async with in_memory(opener(tmp_path), era=era) as client:
            listed = (await client.list_prompts()).prompts
            [message] = (await client.get_prompt("summarize_tag", {"tag": "work/jp"})).messages
            assert isinstance(message.content, TextContent)
            return listed, message.content.text

    listed, text = run(work())
    assert {prompt.name for prompt in listed} == {"find_notes", "summarize_tag", "review_week", "related_notes"}
    for prompt in listed:
        assert prompt.title
        assert prompt.description
        assert all(argument.description for argument in prompt.arguments)
    assert "work/jp" in text
    assert "note_list" in text


def test_tags_titles_and_ids_are_completed(home: Path, tmp_path: Path, bear_db: Path, vault: Path) -> None:
    (vault / "Trips" / "Trieste.md").write_text("# Trieste by night\n\n#sea/adriatic\n", encoding="utf-8")

    async def work() -> list[Any]:
        async with in_memory(opener(tmp_path, vault=vault)) as client:

            async def complete(ref: Any, name: str, value: str) -> Any:
                return (await client.complete(ref, {"name": name, "value": value})).completion

            prompt = PromptReference(name="summarize_tag")
            related = PromptReference(name="related_notes")
            template = ResourceTemplateReference(uri="note://vault/{+note_id}")
            elsewhere = ResourceTemplateReference(uri="note://elsewhere/{+note_id}")
            return [
                (await complete(prompt, "tag", "#SEA")).values,
                (await complete(prompt, "tag", "adria")).values,
                sorted((await complete(related, "title", "night")).values),
                (await complete(related, "title", "trieste by ni")).values,
                (await complete(template, "note_id", "Trips/T")).values,
                (await complete(elsewhere, "note_id", "Trips/T")).values,
                (await complete(prompt, "unknown", "x")).values,
            ]

    assert run(work()) == [
        ["sea/adriatic"],
        ["sea/adriatic"],
        ["Night train", "Trieste by night"],
        ["Trieste by night"],
        ["Trips/Trieste.md"],
        [],
        [],
    ]
