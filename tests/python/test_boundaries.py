"""The arrows of ARCHITECTURE.md, read from the imports: data flows one way, and each outside thing has one home."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "bearsearch"
RUST = ROOT / "rust"
VENDOR = ROOT / "vendor" / "sqlite-vector" / "src"

# A room and what of the package it may import, at any depth. Rooms that are not listed may import anything of it.
MAY_IMPORT = {
    "errors.py": set(),
    "types.py": set(),
    "config.py": {"errors"},
    "embedding": {"config", "embedding", "errors"},
    "render": {"render", "types"},
    "background.py": {"errors", "types"},
    "bear_url.py": {"errors"},
    "bearcli.py": {"errors"},
    "create.py": {"bear_url", "bearcli", "errors", "new_file"},
    "excerpt.py": {"errors"},
    "install": {"errors", "install"},
    "languages.py": set(),
    "new_file.py": {"errors"},
    "watch.py": {"errors", "types"},
    "map": {"map", "types"},
    "answer.py": {"_core", "errors", "rows", "types"},
    "rows.py": {"_core", "types"},
    "service": {
        "_core",
        "answer",
        "background",
        "config",
        "create",
        "doctor",
        "embedding",
        "errors",
        "excerpt",
        "languages",
        "map",
        "rows",
        "service",
        "types",
        "watch",
    },
}
DOORS = {"cli", "mcp_server", "render", "eval", "bench", "demo"}


def imports_of(path: Path) -> set[str]:
    """Dotted names of everything that a Python file imports, inside functions too; relative ones made absolute."""
    found: set[str] = set()
    package = ("bearsearch", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            found.add(module)
            if module.split(".")[0] == "bearsearch":
                found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


def rooms_of(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imports_of(path) if name.startswith("bearsearch.")}


def files_of(room: str) -> list[Path]:
    path = PACKAGE / room
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_lies_below_it(room: str) -> None:
    for path in files_of(room):
        beyond = rooms_of(path) - MAY_IMPORT[room]
        assert not beyond, f"{path.relative_to(ROOT)} imports {sorted(beyond)}"


def test_a_file_of_the_service_imports_only_files_below_it_in_the_list() -> None:
    rooms = files_of("service")
    head = (PACKAGE / "service" / "__init__.py").read_text(encoding="utf-8")
    listed = re.findall(r"^    (\w+)\.py  +\S", head, re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in rooms if path.stem != "__init__")
    for place, name in enumerate(listed):
        imported = imports_of(PACKAGE / "service" / f"{name}.py")
        beyond = {other for other in listed[: place + 1] if f"bearsearch.service.{other}" in imported}
        assert not beyond, f"{name}.py imports {sorted(beyond)}"


def test_only_the_service_and_the_package_import_the_engine() -> None:
    allowed = {PACKAGE / name for name in ("answer.py", "doctor.py", "rows.py", "__init__.py")}
    allowed |= set(files_of("service"))
    others = [path for path in PACKAGE.rglob("*.py") if path not in allowed and "_core" in rooms_of(path)]
    assert not [path for path in others if not (DOORS & set(path.parts)) or "bench" not in path.parts]


def test_nothing_but_the_package_that_runs_models_imports_them() -> None:
    heavy = {"fastembed", "onnxruntime", "tokenizers"}
    for path in PACKAGE.rglob("*.py"):
        used = {name.split(".")[0] for name in imports_of(path)} & heavy
        assert not used or "embedding" in path.parts, f"{path.relative_to(ROOT)} imports {sorted(used)}"


def test_python_writes_no_sql() -> None:
    # The demo builds a Bear library and benches talk to peers: those are other programs' databases.
    for path in PACKAGE.rglob("*.py"):
        if {"demo", "bench"} & set(path.parts):
            continue
        assert "sqlite3" not in imports_of(path), path
        assert not re.search(r"\b(SELECT .* FROM|INSERT INTO|CREATE TABLE)\b", path.read_text(encoding="utf-8")), path


def test_only_the_bindings_import_pyo3() -> None:
    for path in RUST.rglob("*.rs"):
        if "bindings" not in path.parts:
            assert "pyo3" not in path.read_text(encoding="utf-8"), path


def test_unsafe_has_one_home() -> None:
    for path in RUST.rglob("*.rs"):
        if path.name != "ffi.rs" and "ffi" not in path.parts:
            code = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
            assert not re.search(r"\bunsafe\b", code), path


def test_the_engine_names_no_embedding_model() -> None:
    named = re.compile(r"minilm|bge-|nomic|e5-small|openai|huggingface", re.IGNORECASE)
    for path in RUST.rglob("*.rs"):
        code = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
        assert not named.search(code), path


def test_c_knows_sqlite_and_nothing_above_it() -> None:
    for path in VENDOR.glob("*.[ch]"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\b(documents|embeddings_|fts5|bm25)\b", re.sub(r"/\*.*?\*/", "", text, flags=re.S)), path
