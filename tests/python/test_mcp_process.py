"""The MCP server as a process: both protocol eras over stdio, clean standard output, and how it ends."""

import contextlib
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

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
        "import atexit, os, subprocess, sys\n"
        "from bearsearch.service import Index\n"
        "atexit.register(lambda: os.write(1, b'noise at the end'))\n"
        "status = Index.status\n"
        "def noisy_status(self):\n"
        "    print('noise at the start', end='')\n"
        "    os.write(1, b'native noise at the start')\n"
        "    return status(self)\n"
        "Index.status = noisy_status\n"
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
    for noise in (
        "python noise", "no line break", "descriptor noise", "child noise", "noise at the start",
        "native noise at the start", "noise at the end",
    ):  # fmt: skip
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


# ---------------------------------------------------------------- a process that ends in time


@pytest.mark.skipif(sys.platform == "win32", reason="parents are not given new ones there")
def test_the_server_ends_when_its_parent_is_gone_though_its_input_stays_open(home: Path, vault: Path) -> None:
    # The parent starts the server with this test's own pipe as its input, so no end of input tells it.
    reading, writing = os.pipe()
    parent = (
        "import subprocess, sys, time\n"
        "server = subprocess.Popen(sys.argv[1:], stdin=0, stdout=subprocess.PIPE)\n"
        "print(server.pid, flush=True)\n"
        "print(server.stdout.readline().decode(), end='', flush=True)\n"
        "time.sleep(1000)\n"
    )
    command = [sys.executable, "-m", "bearsearch", "mcp", "--vault", str(vault), "--no-semantic"]
    process = subprocess.Popen(
        [sys.executable, "-c", parent, *command], stdin=reading, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    os.close(reading)
    assert process.stdout is not None
    server = int(process.stdout.readline())
    os.write(writing, (json.dumps(INITIALIZE) + "\n").encode())
    assert json.loads(process.stdout.readline())["id"] == 1

    process.kill()
    process.communicate()

    try:
        # The pipe breaks when its last reader, the server, is gone.
        poll = select.poll()
        poll.register(writing, select.POLLERR)
        assert poll.poll(60_000), "the server still reads"
    except AssertionError:
        os.kill(server, signal.SIGKILL)
        raise
    finally:
        os.close(writing)


@pytest.mark.skipif(sys.platform == "win32", reason="waits at a named pipe")
def test_a_call_that_was_cancelled_stops_at_its_next_step(home: Path, vault: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    program = tmp_path / "slow.py"
    # After its first report the sync waits at the gate, so that it cannot be over before the cancellation arrives.
    program.write_text(
        "import sys\n"
        "from bearsearch.service import syncing\n"
        "sync_one = syncing.sync_one\n"
        "def slow(index, target, **named):\n"
        "    told = named.get('progress')\n"
        "    def progress(step):\n"
        "        told(step)\n"
        f"        open({str(gate)!r}).read()\n"
        "        told(step)\n"
        "    if told is None:\n"
        "        return sync_one(index, target, **named)\n"
        "    try:\n"
        "        return sync_one(index, target, **{**named, 'progress': progress})\n"
        "    except BaseException as error:\n"
        "        print('ENDED', type(error).__name__, file=sys.stderr, flush=True)\n"
        "        raise\n"
        "syncing.sync_one = slow\n"
        "from bearsearch.cli import mcp_main\n"
        "mcp_main()\n",
        encoding="utf-8",
    )
    process = subprocess.Popen(
        [sys.executable, str(program), "--vault", str(vault), "--no-semantic"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None

    def send(**message: Any) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()

    def receive() -> dict[str, Any]:
        assert process.stdout is not None
        return json.loads(process.stdout.readline())

    send(**INITIALIZE)
    assert receive()["id"] == 1
    send(method="notifications/initialized")
    named = {"name": "index_sync", "arguments": {}, "_meta": {"progressToken": "p"}}
    send(id=2, method="tools/call", params=named)
    assert receive()["method"] == "notifications/progress"
    send(method="notifications/cancelled", params={"requestId": 2})
    send(id=3, method="tools/call", params={"name": "index_status", "arguments": {}})
    answer = receive()
    gate.write_text("go", encoding="utf-8")
    rest, stderr = process.communicate()

    assert answer["id"] == 3, "others are answered meanwhile, and after the cancellation was read"
    assert "ENDED CancelledError" in stderr
    assert not [line for line in rest.splitlines() if json.loads(line).get("result", {}).get("structuredContent")]
    assert process.returncode == 0


# ---------------------------------------------------------------- HTTP


class Http:
    """A server over HTTP in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "bearsearch", "mcp", "--http", "--port", "0", "--no-semantic", *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8")
        assert self.process.stderr is not None
        self.said = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", self.said)
        assert found is not None, self.said + self.process.stderr.read()
        self.url, self.port = found[0], int(found[1])

    def __enter__(self) -> "Http":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.communicate()

    def ask(self, message: dict[str, Any] = INITIALIZE, **headers: str) -> tuple[int, str]:
        named = {
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }  # fmt: skip
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("POST", "/mcp", json.dumps(message), named)
        with contextlib.closing(connection):
            response = connection.getresponse()
            return response.status, response.read().decode()


@pytest.mark.parametrize("era", ERAS)
def test_an_official_client_searches_over_http(
    home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    monkeypatch.setenv("BEARSEARCH_MCP_TOKEN", "a-token-of-this-test")

    async def work(url: str) -> tuple[str, dict[str, Any]]:
        headers = {"Authorization": "Bearer a-token-of-this-test"}
        async with (
            create_mcp_http_client(headers=headers) as http_client,
            Client(streamable_http_client(url, http_client=http_client), mode=era) as client,
        ):
            found = await client.call_tool("note_search", {"query": "sourdough"})
            return client.protocol_version, data_of(found)

    with Http("--vault", str(vault)) as server:
        version, found = run(work(server.url))

    assert (version >= "2026-07-28") == (era == "auto")
    assert [hit["title"] for hit in found["hits"]] == ["Bread"]


def test_over_http_only_this_machine_with_the_token_is_answered(home: Path, vault: Path) -> None:
    with Http("--vault", str(vault)) as server:
        token_file = home / "mcp-token"
        assert str(token_file) in server.said
        token = token_file.read_text(encoding="utf-8").strip()
        assert token not in server.said
        assert token_file.stat().st_mode & 0o77 == 0
        bearer = f"Bearer {token}"

        assert server.ask(Authorization=bearer)[0] == 200
        assert server.ask(Authorization=bearer, Origin=f"http://localhost:{server.port}")[0] == 200
        assert server.ask()[0] == 401
        assert server.ask(Authorization="Bearer " + "x" * len(token))[0] == 401
        assert server.ask(Authorization=bearer, Origin="https://example.org")[0] == 403
        assert server.ask(Authorization=bearer, Origin="null")[0] == 403
        assert server.ask(Authorization=bearer, Host=f"example.org:{server.port}")[0] == 421
        assert server.ask(Authorization=bearer, Host="127.0.0.1")[0] == 421
        with pytest.raises(OSError, match=r"refused|reachable|assign|unreachable"):
            socket.create_connection((other_address(), server.port), timeout=5)
        again = Http("--vault", str(vault))
        with again:
            assert again.ask(Authorization=bearer)[0] == 200, "the token stays the same"
    assert server.process.returncode in {0, -signal.SIGTERM}


def other_address() -> str:
    """An address of this machine that is not the loopback's usual one; the server must not listen there."""
    return "127.0.0.2" if sys.platform == "linux" else socket.gethostbyname(socket.gethostname())


def test_a_short_token_or_a_taken_port_is_refused_in_a_sentence(
    home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "bearsearch", "mcp", "--vault", str(vault), "--no-semantic", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
        return done.returncode, done.stderr

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, said = serve("--http", "--port", str(taken.getsockname()[1]))
        assert code == 2
        assert "cannot be used" in said
    assert serve("--port", "1")[1] == "bearsearch: --port needs --http. See `bearsearch mcp --help`.\n"
    monkeypatch.setenv("BEARSEARCH_MCP_TOKEN", "short")
    code, said = serve("--http", "--port", "0")
    assert code == 2
    assert "has 5 characters" in said
    assert "short" not in said


# ---------------------------------------------------------------- JP, log


@pytest.mark.parametrize("era", ERAS)
def test_in_the_jp_protocol_results_and_errors_are_json_in_text(home: Path, vault: Path, era: str) -> None:
    async def work() -> list[Any]:
        async with over_stdio("--vault", str(vault), "--no-semantic", "--jp", era=era) as client:
            tools = (await client.list_tools()).tools
            assert all(tool.output_schema is None for tool in tools)
            return [
                await client.call_tool("note_search", {"queries": "sourdough"}),
                await client.call_tool("note_get", {"ids": ["Bread.md"], "lines": ["3"]}),
                await client.call_tool("note_get", {"ids": ["Bread.md"], "lines": ["x"]}),
                await client.call_tool("note_nothing", {}),
            ]

    found, read, wrong, unknown = run(work())
    for result in (found, read, wrong, unknown):
        assert not result.is_error
        assert result.structured_content is None
    assert json.loads(text_of(found))["type"] == "success"
    assert '<match note-id="Bread.md"' in json.loads(text_of(found))["content"]
    assert "Feed the sourdough starter daily." in json.loads(text_of(read))["content"]
    assert json.loads(text_of(wrong)) == {
        "type": "error", "message": 'lines is "x"; give a line such as 10, or a range such as 10:20', "trace": [],
        "transient": False,
    }  # fmt: skip
    assert json.loads(text_of(unknown))["message"].startswith("There is no tool 'note_nothing'")


def test_the_log_has_calls_and_faults_and_never_a_word_of_theirs(home: Path, vault: Path, tmp_path: Path) -> None:
    # No input is known that makes the service fail unexpectedly, so it is made to.
    program = tmp_path / "failing.py"
    program.write_text(
        "from bearsearch.service import Index\n"
        "def fail(self, *args, **named):\n"
        "    raise ZeroDivisionError('a secret word')\n"
        "Index.list = fail\n"
        "from bearsearch.cli import mcp_main\n"
        "mcp_main()\n",
        encoding="utf-8",
    )
    log = tmp_path / "mcp.log"

    async def work() -> Any:
        options = ("--vault", str(vault), "--no-semantic", "--log-file", str(log))
        async with over_stdio(*options, program=[sys.executable, str(program)]) as client:
            await client.call_tool("note_search", {"query": "sourdough secret"})
            await client.call_tool("note_get", {"ids": ["secret"], "lines": "secret"})
            return await client.call_tool("note_list", {})

    failed = run(work())
    text = log.read_text(encoding="utf-8")
    assert failed.is_error
    assert "secret" not in text_of(failed)
    assert re.search(r"INFO bearsearch\.mcp: note_search done in \d+ ms", text)
    assert re.search(r"INFO bearsearch\.mcp: note_get UsageError in \d+ ms", text)
    assert "ZeroDivisionError" in text
    assert "failing.py:3 in fail" in text
    assert "secret" not in text
    assert "sourdough" not in text
    if sys.platform != "win32":
        assert log.stat().st_mode & 0o77 == 0
