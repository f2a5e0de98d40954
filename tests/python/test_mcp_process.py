"""The MCP server as a process: both protocol eras over stdio, clean standard output, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_support import ERAS, data_of, over_stdio, run, text_of

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.mark.parametrize("era", ERAS)
def test_an_official_client_searches_and_reads_over_stdio(home: Path, bear_db: Path, era: str) -> None:
    async def work() -> tuple[str, dict[str, Any], dict[str, Any]]:
        async with over_stdio("--db", str(bear_db), "--no-semantic", era=era) as client:
            found = data_of(await client.call_tool("note_search", {"query": "quokka twin"}))
            read = data_of(await client.call_tool("note_get", {"ids": [hit["id"] for hit in found["hits"]]}))
            return client.protocol_version, found, read

    version, found, read = run(work())
    assert (version >= "2026-07-28") == (era == "auto")
    assert {hit["title"] for hit in found["hits"]} >= {"Same title"}
    assert [note["id"] for note in read["notes"]] == [hit["id"] for hit in found["hits"]]


@pytest.mark.parametrize("era", ERAS)
def test_errors_reach_the_client_over_stdio_in_either_era(home: Path, vault: Path, era: str) -> None:
    async def work() -> Any:
        async with over_stdio("--vault", str(vault), "--no-semantic", "--note-create", era=era) as client:
            return [
                await client.call_tool("note_search", {"query": "x", "colection": "y"}),
                await client.call_tool("note_get", {"ids": ["Bread"], "lines": "0"}),
            ]

    unknown, lines = run(work())
    assert unknown.is_error
    assert "has no argument 'colection'" in text_of(unknown)
    assert lines.is_error


def test_the_program_bearsearch_mcp_is_the_same_server(home: Path, vault: Path) -> None:
    program = [sys.executable, "-c", "from bearsearch.cli import mcp_main; mcp_main()"]

    async def work() -> dict[str, Any]:
        async with over_stdio("--vault", str(vault), "--no-semantic", program=program) as client:
            return data_of(await client.call_tool("index_status", {}))

    assert run(work())["documents"] == 0


def test_what_others_print_never_reaches_the_protocol(home: Path, vault: Path, tmp_path: Path) -> None:
    # Prints through Python, through the descriptor and from a child, with and without a line break, as libraries do.
    noisy = tmp_path / "noisy.py"
    noisy.write_text(
        "import os, subprocess, sys\n"
        "from bearsearch.service import Index\n"
        "search = Index.search\n"
        "def noisy(self, *args, **named):\n"
        "    print('python noise')\n"
        "    print('no line break', end='')\n"
        "    os.write(1, b'descriptor noise')\n"
        "    subprocess.run(['echo', 'child noise'], check=True)\n"
        "    return search(self, *args, **named)\n"
        "Index.search = noisy\n"
        "from bearsearch.cli import mcp_main\n"
        "mcp_main()\n",
        encoding="utf-8",
    )
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    arguments = {"name": "note_search", "arguments": {"query": "sourdough"}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": arguments}

    process = subprocess.Popen(
        [sys.executable, str(noisy), "--vault", str(vault), "--no-semantic"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    replies: list[dict[str, Any]] = []
    for message in (INITIALIZE, notification, call):
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        if "id" in message:
            replies.append(json.loads(process.stdout.readline()))
    stdout, stderr = process.communicate()

    assert [reply["id"] for reply in replies] == [1, 2]
    assert replies[1]["result"]["structuredContent"]["hits"][0]["title"] == "Bread"
    assert stdout == ""
    assert process.returncode == 0
    for noise in ("python noise", "no line break", "descriptor noise", "child noise"):
        assert noise in stderr


def test_initialize_is_answered_with_neither_a_model_nor_its_runtime_loaded(home: Path, vault: Path) -> None:
    program = (
        "import atexit, sys; atexit.register(lambda: print('\\nMODULES ' + ' '.join(sys.modules), file=sys.stderr));"
        "from bearsearch.cli import mcp_main; mcp_main()"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, "--vault", str(vault)],
        input=json.dumps(INITIALIZE) + "\n", capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip

    [reply] = [json.loads(line) for line in done.stdout.splitlines()]
    assert reply["result"]["serverInfo"]["name"] == "bearsearch"
    assert reply["result"]["instructions"]
    modules = set(done.stderr.split("MODULES ")[1].split())
    assert not modules & {"fastembed", "onnxruntime", "tokenizers"}
    assert done.returncode == 0, "the end of input is a normal end"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_at_once_and_silently(home: Path, vault: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "bearsearch", "mcp", "--vault", str(vault), "--no-semantic"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(INITIALIZE) + "\n")
    process.stdin.flush()
    assert process.stdout.readline()

    os.kill(process.pid, number)
    process.wait()  # with its input still open
    _, stderr = process.communicate()

    assert process.returncode == -number
    assert "Traceback" not in stderr
