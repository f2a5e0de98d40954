"""The bundle and the registry entry: what is in them, and that the bundle's starter starts the server."""

import importlib.util
import json
import os
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from bearsearch import __version__
from mcp_support import data_of, run

BUILDER = Path(__file__).resolve().parents[2] / "packaging" / "mcpb" / "build.py"


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_bundle", BUILDER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def dist(builder: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    assert builder.main(folder) == 0
    return folder


def test_the_bundle_names_this_version_and_the_servers_own_tools(dist: Path) -> None:
    with zipfile.ZipFile(dist / f"bearsearch-{__version__}.mcpb") as archive:
        assert archive.testzip() is None
        manifest = json.loads(archive.read("manifest.json"))
        project = tomllib.loads(archive.read("pyproject.toml").decode())["project"]
        assert {"server/main.py", "LICENSE"} < set(archive.namelist())

    assert manifest["version"] == __version__
    assert project["dependencies"] == [f"bearsearch[model]=={__version__}"]
    assert {"note_search", "note_get", "search", "fetch"} < {tool["name"] for tool in manifest["tools"]}
    assert manifest["server"]["type"] == "uv"
    assert manifest["compatibility"]["runtimes"]["python"] == ">=3.11 <3.15"


def test_the_same_input_gives_the_same_bundle(builder: ModuleType, dist: Path, tmp_path: Path) -> None:
    assert builder.main(tmp_path) == 0

    name = f"bearsearch-{__version__}.mcpb"
    assert (tmp_path / name).read_bytes() == (dist / name).read_bytes()


def test_the_registry_entry_starts_the_program(dist: Path) -> None:
    entry = json.loads((dist / "server.json").read_text(encoding="utf-8"))

    [package] = entry["packages"]
    assert (package["registryType"], package["identifier"], package["version"]) == ("pypi", "bearsearch", __version__)
    assert len(entry["description"]) <= 100


def test_the_registry_finds_the_entry_s_name_in_the_package_s_readme(dist: Path) -> None:
    name = json.loads((dist / "server.json").read_text(encoding="utf-8"))["name"]
    readme = (BUILDER.parents[2] / "README.md").read_text(encoding="utf-8")

    assert (
        tomllib.loads((BUILDER.parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]["readme"]
        == "README.md"
    )
    assert f"mcp-name: {name} " in readme


def test_what_is_wrong_with_a_bundle_is_said(builder: ModuleType) -> None:
    manifest: dict[str, Any] = builder.manifest()
    entry = {**builder.server_entry(), "version": "9.9.9", "name": "Bad Name", "description": "x" * 101}
    del manifest["user_config"]["vault"]

    problems = builder.check(manifest, entry, {})

    assert len(problems) == 5


def test_the_unpacked_bundle_serves_the_folder_that_a_person_chose(home: Path, vault: Path, dist: Path) -> None:
    unpacked = dist / "unpacked"
    with zipfile.ZipFile(dist / f"bearsearch-{__version__}.mcpb") as archive:
        archive.extractall(unpacked)
    environment = {**os.environ, "BUNDLE_VAULT": str(vault), "BUNDLE_NOTE_CREATE": "true"}
    server = StdioServerParameters(
        command=sys.executable, args=[str(unpacked / "server" / "main.py"), "--no-semantic"], env=environment
    )

    async def work() -> tuple[set[str], dict[str, Any]]:
        async with Client(server) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            return tools, data_of(await client.call_tool("note_search", {"query": "sourdough"}))

    tools, found = run(work())
    assert "note_create" in tools
    assert [hit["title"] for hit in found["hits"]] == ["Bread"]
