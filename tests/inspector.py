"""Run the MCP server against the protocol's official inspector, as one program that nobody here wrote.

    python tests/inspector.py .venv/bin/bearsearch

Needs npx and the npm registry, which gives Node 22 and the inspector for the time of the run. The inspector's
`--strict` refuses tool schemas that some hosts cannot read.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

INSPECTOR = ("npx", "--yes", "-p", "node@22", "-p", "@modelcontextprotocol/inspector@2.12.0", "mcp-inspector", "--cli")
TIMEOUT_S = 300


def asked(server: list[str], *question: str, environment: dict[str, str]) -> Any:
    """The inspector's answer to one question, as JSON."""
    command = [*INSPECTOR, *question, "--", *server]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(question)} ended with {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def main(program: str) -> None:
    """Ask for tools, a search, a note, resources and a prompt; exits with 1 at the first wrong answer."""
    if shutil.which("npx") is None:
        print("inspector: not run, there is no npx")
        return
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "notes"
        vault.mkdir()
        (vault / "train.md").write_text("# Night train\n\nFrom Vienna to Venice.\n", encoding="utf-8")
        environment = {**os.environ, "BEARSEARCH_HOME": str(Path(folder) / "home")}
        server = [program, "mcp", "--vault", str(vault), "--no-semantic"]

        def ask(*question: str) -> Any:
            return asked(server, *question, environment=environment)

        names = {tool["name"] for tool in ask("--strict", "--method", "tools/list")["tools"]}
        assert {"note_search", "note_get", "search", "fetch"} < names, names
        call = ("--method", "tools/call", "--tool-name")
        found = ask(*call, "note_search", "--tool-arg", "query=venice")["structuredContent"]
        assert [hit["id"] for hit in found["hits"]] == ["train.md"], found
        read = ask(*call, "note_get", "--tool-arg", "ids=train.md", "--tool-arg", "lines=3")["structuredContent"]
        assert [note["text"].strip() for note in read["notes"]] == ["From Vienna to Venice."], read
        resources = ask("--method", "resources/list")["resources"]
        assert [resource["title"] for resource in resources] == ["Night train"], resources
        prompts = ask("--method", "prompts/list")["prompts"]
        assert prompts, "there are prompts"
        assert all(prompt["description"] for prompt in prompts), prompts
    print(f"inspector: {len(names)} tools, search, get, resources, {len(prompts)} prompts")


if __name__ == "__main__":
    main(sys.argv[1])
