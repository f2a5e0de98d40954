"""Two servers and five command lines on one index, while its notes change: nobody is turned away and nothing is lost.

    python tests/crowd.py --seconds 60 --json figures.json

Every process is a real one. At the end the index passes SQLite's check, holds every edit, answers what an index made
from nothing answers, has no waiting passage, and no file lies beside it. Needs the package with the model's weights.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

WORDS = ("anchor", "bread", "candle", "dune", "ember", "fjord", "glacier", "harbour", "island", "jetty", "kelp")
NOTES = 60
LINES = 5
SERVERS = 2
PROGRAM = (sys.executable, "-m", "bearsearch")


def write_note(vault: Path, number: int, mark: str) -> None:
    """One note with a word of its own."""
    body = " ".join(random.Random(number).choices(WORDS, k=80))
    text = f"# Note {number}\n\n{mark}\n\n{body}\n\n#tag{number % 3}\n"
    draft = vault / f".{number}.draft"
    draft.write_text(text, encoding="utf-8")
    draft.replace(vault / f"{number}.md")


class Server:
    """`bearsearch mcp` in a process, asked one question at a time."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [*PROGRAM, "mcp", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self._sent = 0
        client = {"name": "crowd", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """The whole reply to one request."""
        assert self.process.stdout is not None
        self._sent += 1
        self._write({"jsonrpc": "2.0", "id": self._sent, "method": method, "params": parameters})
        while True:
            line = self.process.stdout.readline()
            assert line, "the server ended"
            reply = json.loads(line)
            if reply.get("id") == self._sent:
                return reply

    def search(self, query: str) -> dict[str, Any]:
        """The structured result of `note_search`."""
        reply = self.ask("tools/call", {"name": "note_search", "arguments": {"query": query}})
        assert not reply["result"].get("isError"), reply
        return reply["result"]["structuredContent"]

    def end(self) -> int:
        """Closes its input, as a client does that goes away, and returns its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=30)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command line."""
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, encoding="utf-8", check=False)


def crowd(seconds: float, folder: Path) -> dict[str, object]:
    """Lets them work for so long and returns the figures.

    Raises:
        AssertionError: Somebody was turned away, or something was lost.
    """
    vault, index = folder / "vault", folder / "index" / "index.sqlite"
    vault.mkdir()
    for number in range(NOTES):
        write_note(vault, number, f"first{number}")
    options = ("--vault", str(vault), "--index", str(index))
    calls: Counter[str] = Counter()
    faults: list[str] = []
    edits: dict[int, str] = {}

    def complain(what: str) -> None:
        faults.append(what)

    def line(seed: int) -> None:
        rng = random.Random(seed)
        while time.monotonic() < deadline and not faults:
            name, arguments = rng.choice(
                [
                    ("index", ["index", "--quiet", "--no-semantic"]),
                    ("search", ["search", rng.choice(WORDS), "--no-semantic", "--json"]),
                    ("search", ["search", rng.choice(WORDS), "--mode", "fts"]),
                    ("list", ["list", "--json"]),
                    ("get", ["get", f"Note {rng.randrange(NOTES)}"]),
                    ("status", ["status", "--json"]),
                ]
            )
            done = command(*arguments, *options)
            calls[name] += 1
            told = done.stdout + done.stderr
            if done.returncode != 0 or "locked" in done.stderr or "another process" in told or "damaged" in told:
                complain(f"{arguments}: exit code {done.returncode}: {done.stderr or done.stdout[:500]}")

    def ask(server: Server, seed: int) -> None:
        rng = random.Random(seed)
        try:
            while time.monotonic() < deadline and not faults:
                found = server.search(rng.choice(WORDS))
                calls["note_search"] += 1
                if not found["hits"] or "another process" in json.dumps(found):
                    complain(f"note_search: {json.dumps(found)[:500]}")
        except AssertionError as error:
            complain(f"note_search: {error}")

    servers = [Server(*options) for _ in range(SERVERS)]
    deadline = time.monotonic() + seconds
    threads = [threading.Thread(target=line, args=(seed,)) for seed in range(LINES)]
    threads += [threading.Thread(target=ask, args=(server, 100 + seed)) for seed, server in enumerate(servers)]
    for thread in threads:
        thread.start()
    rng = random.Random(5)
    turn = 0
    while time.monotonic() < deadline and not faults:
        turn += 1
        number = rng.randrange(NOTES)
        edits[number] = f"edit{turn}"
        write_note(vault, number, edits[number])
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    ends = [server.end() for server in servers]
    assert not faults, "\n".join(faults)
    assert ends == [0] * SERVERS, f"the servers ended with {ends}"
    done = command("index", "--quiet", *options)
    assert done.returncode == 0, done.stderr
    examined = json.loads(command("doctor", "--json", *options).stdout)
    assert examined["ok"], examined
    fresh = ("--vault", str(vault), "--index", str(folder / "fresh.sqlite"))
    assert command("index", "--quiet", "--no-semantic", *fresh).returncode == 0
    for query in (*WORDS, *list(edits.values())[-20:]):
        seen, right = (
            json.loads(command("search", query, "--json", "--mode", "fts", "-n", "100", *where).stdout)
            for where in (options, fresh)
        )
        ids = [[hit["id"] for hit in found["hits"]] for found in (seen, right)]
        assert ids[0] == ids[1], f"{query}: {ids}"
    left = sorted(path.name for path in index.parent.iterdir())
    assert left == ["index.sqlite"], f"files were left behind: {left}"
    return {"seconds": seconds, "calls": dict(calls), "edits": turn, "turned away": 0, "lost": 0}


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("BEARSEARCH_")]:
        del os.environ[name]
    folder = Path(tempfile.mkdtemp(prefix="bearsearch-crowd-"))
    os.environ["BEARSEARCH_HOME"] = str(folder / "home")
    figures = crowd(arguments.seconds, folder)
    shutil.rmtree(folder)
    text = json.dumps(figures, indent=2)
    print(text)
    if arguments.json is not None:
        arguments.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
