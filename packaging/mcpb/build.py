"""Build the bundle that a program installs with a double click, and the entry for the registry of MCP servers.

    python packaging/mcpb/build.py dist

Writes `bearsearch-VERSION.mcpb` and `server.json` into the folder. The bundle holds no code of ours: it names the
package and its version, and the program's own uv fetches the wheel for the machine, because compiled parts cannot be
bundled for all of them. What a bundle must hold is checked here; `make bundle` also runs the format's own validator.
"""

import asyncio
import json
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from bearsearch import __version__
from bearsearch.errors import UsageError
from bearsearch.mcp_server.app import build as build_server
from bearsearch.mcp_server.library import Library
from bearsearch.mcp_server.prompts import PROMPTS

ROOT = Path(__file__).resolve().parents[2]
MANIFEST_VERSION = "0.4"  # the first one that knows servers which uv installs
SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
PYTHON_RANGE = ">=3.11 <3.15"  # in the style of semantic versions: the form that programs read
LONGEST_DESCRIPTION = 100  # of a registry entry

# A file's time in the archive: the same input gives the same bytes.
FIXED_TIME = (2026, 1, 1, 0, 0, 0)

STARTER = '''"""Starts the server that this bundle's pyproject.toml installs, with the options that a person chose."""

import os
import sys

from bearsearch.cli import main

arguments = ["mcp"]
if vault := os.environ.get("BUNDLE_VAULT", "").strip():
    arguments += ["--vault", os.path.expanduser(vault)]
if os.environ.get("BUNDLE_NOTE_CREATE", "").strip().lower() == "true":
    arguments.append("--note-create")
main(arguments + sys.argv[1:])
'''


def registry_name() -> str:
    """The server's name in the registry, as README.md gives it in a comment.

    The registry takes an entry only if the package on PyPI names it so, and a README is what PyPI shows of a package;
    so the name is written there and nowhere else.

    Raises:
        ValueError: README.md names none, or several.
    """
    found = re.findall(r"<!-- mcp-name: (\S+) -->", (ROOT / "README.md").read_text(encoding="utf-8"))
    if len(found) != 1:
        raise ValueError(f"README.md has {len(found)} comments `<!-- mcp-name: OWNER/NAME -->`; it needs one")
    return found[0]


def project() -> dict[str, Any]:
    """The `[project]` table of pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]


def tools() -> list[dict[str, str]]:
    """Name and first line of each tool, as the server itself lists them."""

    def no_index() -> Any:
        raise UsageError("a bundle is built without an index")

    listed = asyncio.run(build_server(Library(no_index), note_create=True).list_tools())
    return [{"name": tool.name, "description": (tool.description or "").split("\n\n")[0]} for tool in listed]


def manifest() -> dict[str, Any]:
    """manifest.json."""
    described = project()
    return {
        "manifest_version": MANIFEST_VERSION,
        "name": described["name"],
        "display_name": "Notes (bearsearch)",
        "version": __version__,
        "description": described["description"],
        "long_description": (
            "Searches your Bear notes and folders of Markdown by word, by meaning and despite typos. Everything stays "
            "on this machine; nothing is written to your notes unless you allow new ones."
        ),
        "author": {"name": "The bearsearch authors"},
        "license": described["license"],
        "keywords": described["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "server/main.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server/main.py"],
                "env": {
                    "BUNDLE_VAULT": "${user_config.vault}",
                    "BUNDLE_NOTE_CREATE": "${user_config.note_create}",
                },
            },
        },
        "user_config": {
            "vault": {
                "type": "directory",
                "title": "Folder of Markdown",
                "description": "An Obsidian vault or any folder of notes. Leave it empty for Bear.",
                "required": False,
                "default": "",
            },
            "note_create": {
                "type": "boolean",
                "title": "Allow new notes",
                "description": "Let the program create notes. It never changes one.",
                "required": False,
                "default": False,
            },
        },
        "tools": tools(),
        "tools_generated": False,
        "prompts_generated": True,
        "compatibility": {"platforms": ["darwin", "win32", "linux"], "runtimes": {"python": PYTHON_RANGE}},
    }


def server_entry() -> dict[str, Any]:
    """server.json: what the registry shows, and how it starts the package."""
    return {
        "$schema": SERVER_SCHEMA,
        "name": registry_name(),
        "title": "bearsearch",
        "description": "Local hybrid search over Bear notes and Markdown folders: by word, meaning, despite typos.",
        "version": __version__,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": "bearsearch",
                "version": __version__,
                "runtimeHint": "uvx",
                "runtimeArguments": [
                    {"type": "named", "name": "--from", "value": f"bearsearch=={__version__}"},
                ],
                "packageArguments": [{"type": "positional", "value": "mcp"}],
                "transport": {"type": "stdio"},
            }
        ],
    }


def pyproject() -> str:
    """The bundle's own project: nothing but the package, at this version."""
    return (
        f'[project]\nname = "bearsearch-bundle"\nversion = "{__version__}"\nrequires-python = ">=3.11"\n'
        f'dependencies = ["bearsearch[model]=={__version__}"]\n\n[tool.uv]\npackage = false\n'
    )


def check(found: dict[str, Any], entry: dict[str, Any], files: dict[str, bytes]) -> list[str]:
    """What is wrong with a bundle, one sentence each."""
    problems: list[str] = []
    for key in ("manifest_version", "name", "version", "description", "author", "server"):
        if not found.get(key):
            problems.append(f"manifest.json has no {key}")
    if found["server"]["entry_point"] not in files:
        problems.append(f"the bundle has no {found['server']['entry_point']}")
    used = set(re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(found["server"])))
    if used != set(found["user_config"]):
        problems.append(
            f"settings that are asked for and those that are used differ: {used ^ set(found['user_config'])}"
        )
    if not re.fullmatch(r"\d+\.\d+\.\d+", found["version"]) or found["version"] != entry["version"]:
        problems.append("the versions are not the package's")
    if not re.fullmatch(r"[a-z0-9.-]+/[a-z0-9._-]+", entry["name"]):
        problems.append("the registry's name is not of the form owner/name")
    if not 1 <= len(entry["description"]) <= LONGEST_DESCRIPTION:
        problems.append(f"the registry takes descriptions of at most {LONGEST_DESCRIPTION} characters")
    if any(not tool["description"] for tool in found["tools"]) or not PROMPTS:
        problems.append("a tool has no description")
    return problems


def main(folder: Path) -> int:
    """Write both files; 1 when something is wrong with them."""
    found, entry = manifest(), server_entry()
    files = {
        "manifest.json": (json.dumps(found, indent=2, ensure_ascii=False) + "\n").encode(),
        "pyproject.toml": pyproject().encode(),
        "server/main.py": STARTER.encode(),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    problems = check(found, entry, files)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    bundle = folder / f"bearsearch-{__version__}.mcpb"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, FIXED_TIME)
            info.external_attr = 0o644 << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    (folder / "server.json").write_text(json.dumps(entry, indent=2) + "\n", encoding="utf-8")
    print(f"{bundle} and {folder / 'server.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
