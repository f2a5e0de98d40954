"""What the README promises about privacy, each promise held against bytes: no network, no write to a source, no trace.

Traces are looked for in every file beside the index, from a child process or after the index was closed.
"""

import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bearsearch import Index

GENERATOR = Path(__file__).parent.parent / "make_bear_db.py"
SECRET = "zygomorphic"
"""No other note has a word like it."""
DIM = 16


def touch(db: Path, *arguments: str) -> None:
    """Change one note the way Bear does."""
    subprocess.run([sys.executable, str(GENERATOR), "touch", str(db), *arguments], check=True, capture_output=True)


@pytest.fixture
def own_db(bear_db: Path, tmp_path: Path) -> Path:
    """A Bear library in a folder of its own that the test may change."""
    path = tmp_path / "Bear" / "database.sqlite"
    path.parent.mkdir()
    shutil.copy(bear_db, path)
    return path


def state_of(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Every file below a folder: hash, mode, time of its last change."""
    found: dict[str, tuple[str, int, int]] = {}
    for path in sorted(folder.rglob("*")):
        facts = path.stat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(folder))] = (content, facts.st_mode, facts.st_mtime_ns)
    return found


def use_everything(index: Index) -> None:
    """Every use case that reads a source."""
    index.sync(dry_run=True)
    index.sync()
    hit = index.search("quokka OR Bread").hits[0]
    index.get(hit.id)
    index.list(limit=3)
    index.tags()
    index.links(hit.id)
    index.status()
    index.doctor()
    index.sync(rebuild=True)


@pytest.mark.parametrize("journal", ["delete", "wal", "wal with pages", "persist"])
def test_a_bear_library_is_the_same_before_and_after(home: Path, own_db: Path, journal: str) -> None:
    writer = None
    if journal == "wal with pages":
        # The pages stay in the WAL because a connection, Bear's, is still open.
        writer = sqlite3.connect(own_db, isolation_level=None)
        writer.execute("PRAGMA journal_mode = wal")
        writer.execute("UPDATE ZSFNOTE SET Z_OPT = Z_OPT + 1 WHERE Z_PK = 3")
    else:
        with closing(sqlite3.connect(own_db, isolation_level=None)) as db:
            db.execute(f"PRAGMA journal_mode = {journal}")
            db.execute("UPDATE ZSFNOTE SET Z_OPT = Z_OPT + 1 WHERE Z_PK = 3")
    command = [
        sys.executable,
        "-c",
        "import json, sys, test_privacy; print(json.dumps(test_privacy.states(sys.argv[1])))",
    ]

    def states() -> object:
        # From a child: closing a descriptor here would end the locks of the open connection.
        done = subprocess.run(
            [*command, str(own_db.parent)],
            cwd=Path(__file__).parent,
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        return json.loads(done.stdout)

    before = states()
    with Index(db=own_db, semantic=False) as index:
        use_everything(index)
    after = states()
    if writer is not None:
        writer.close()
    assert before == after


def states(folder: str) -> dict[str, object]:
    """What `state_of` finds, without the shared memory of a WAL, in which readers keep their marks."""
    return {name: list(facts) for name, facts in state_of(Path(folder)).items() if not name.endswith("-shm")}


def test_a_vault_is_the_same_before_and_after(home: Path, vault: Path) -> None:
    before = state_of(vault)
    with Index(vault=vault, semantic=False) as index:
        use_everything(index)
    assert state_of(vault) == before


def embed(index: Index) -> None:
    """Gives each waiting text a vector of random numbers, whose bytes can be recognized."""
    engine = index._open.engine
    model = engine.use_model("made up", "made up", DIM)["id"]
    for text_id, text in engine.pending(model, 0, 100_000):
        engine.add_embeddings(model, np.array([text_id], dtype=np.int64), vector_of(text))


def vector_of(text: str) -> np.ndarray:
    """float32, shape (1, DIM), of unit length."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    vector = np.random.default_rng(seed).standard_normal((1, DIM)).astype(np.float32)
    return vector / np.linalg.norm(vector)


def traces(folder: Path, *needles: bytes) -> list[str]:
    """Files below `folder` that hold one of the needles, in any case of letters."""
    wanted = [needle.lower() for needle in needles]
    return [
        f"{path.name}: {needle!r}"
        for path in folder.rglob("*")
        if path.is_file()
        for content in [path.read_bytes()]
        for needle, folded in zip(needles, wanted, strict=True)
        if needle in content or folded in content.lower()
    ]


def secret_vectors(index: Index) -> list[bytes]:
    """The bytes of the vectors of all texts with the secret."""
    model = index._open.engine.models()[0]["id"]
    stored = [
        np.asarray(vector, np.float32).tobytes()
        for text, vector in index._open.engine.sample(model, 100_000)
        if SECRET in text
    ]
    assert stored
    return stored


WAYS = {
    "encrypted": ("encrypt",),
    "trashed": ("trash",),
    "deleted": ("delete",),
    "purged": ("purge",),
}


@pytest.mark.parametrize("way", [*WAYS, "tag left out"])
def test_text_that_left_the_library_leaves_the_index_with_its_vectors(home: Path, own_db: Path, way: str) -> None:
    place = home.parent / "index"
    path = place / "index.sqlite"
    with Index(path, db=own_db, semantic=False) as index:
        target = index.search('"Same second 1"').hits[0].id
        touch(own_db, "edit", target, f"# Same second 1\n\nIt mentions {SECRET} petals.\n" * 40)
        touch(own_db, "retag", target, "private/diary")
        assert [hit.id for hit in index.search(SECRET).hits] == [target]
        embed(index)
        vectors = secret_vectors(index)
    assert len(traces(place, SECRET.encode(), vectors[0])) >= 2, "nothing is proved otherwise"
    if way == "tag left out":
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text('exclude_tags = ["private"]\n', encoding="utf-8")
    else:
        touch(own_db, WAYS[way][0], target, *WAYS[way][1:])
    with Index(path, db=own_db, semantic=False) as index:
        assert index.search(SECRET).hits == ()
        # In a process that goes on running.
        names = [SECRET[:8].encode(), *vectors]
        show = "print(t.traces(pathlib.Path(sys.argv[1]), *map(bytes.fromhex, sys.argv[2:])))"
        program = f"import pathlib, sys, test_privacy as t; {show}"
        done = subprocess.run(
            [sys.executable, "-c", program, str(place), *(name.hex() for name in names)],
            cwd=Path(__file__).parent,
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        assert done.stdout.strip() == "[]"
    assert traces(place, SECRET[:8].encode(), *vectors) == []


def test_a_locked_note_and_what_is_left_out_never_reach_a_file_or_a_stream(
    home: Path, own_db: Path, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    (vault / "private").mkdir(parents=True)
    (vault / "private" / "diary.md").write_text(f"# Diary\n\n{SECRET} thoughts\n", encoding="utf-8")
    (vault / "open.md").write_text("# Open\n\nnothing\n\n#fine\n", encoding="utf-8")
    (vault / "tagged.md").write_text(f"# Tagged\n\n{SECRET} words\n\n#hidden/deep\n", encoding="utf-8")
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text('exclude_tags = ["hidden"]\nexclude = ["private/**"]\n', encoding="utf-8")
    with closing(sqlite3.connect(own_db, isolation_level=None)) as db:
        # Bear keeps the text of a locked note as bytes that are no text; a bug of its own must not reach us either.
        changed = db.execute("UPDATE ZSFNOTE SET ZTEXT = ? WHERE ZENCRYPTED = 1", (f"{SECRET} diary",)).rowcount
    assert changed
    place = tmp_path / "index"
    told = ""
    for arguments in (
        ["index", "--no-semantic"],
        ["search", SECRET, "--no-semantic", "--json"],
        ["list", "--json", "-n", "999"],
        ["status"],
        ["doctor", "--json", "--no-semantic", "--debug"],
    ):
        command = [sys.executable, "-m", "bearsearch", *arguments, "--index", str(place / "index.sqlite")]
        done = subprocess.run(
            [*command, "--vault", str(vault), "--db", str(own_db)], capture_output=True, encoding="utf-8", check=False
        )
        assert done.returncode in (0, 1), done.stderr
        told += (done.stdout + done.stderr).replace(f'"query": "{SECRET}"', "")
    assert "Open" in told
    assert f"{SECRET} " not in told
    assert traces(place, SECRET[:8].encode()) == []


WITHOUT_NETWORK = """
import sys
def refuse(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg"}:
        print("NETWORK", event, arguments, file=sys.stderr, flush=True)
        raise OSError("the test allows no network")
sys.addaudithook(refuse)
from bearsearch.cli import main
main()
"""


def isolated() -> list[str]:
    """A Python without a network: a name space of its own where one may be made, and a hook that names attempts."""
    away = ["unshare", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*away, "true"], check=False, capture_output=True).returncode:
        away = []
    return [*away, sys.executable, "-c", WITHOUT_NETWORK]


def test_everything_works_without_a_network_once_the_weights_are_there(home: Path, vault: Path) -> None:
    for arguments in (
        ["index"],
        ["search", "a railway journey", "--mode", "vector"],
        ["search", "sourdough"],
        ["status", "--json"],
        ["doctor"],
    ):
        command = [*isolated(), *arguments, "--vault", str(vault)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "NETWORK" not in done.stderr


def test_a_server_answers_without_a_network(home: Path, vault: Path) -> None:
    messages = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "note_search", "arguments": {"query": "sourdough"}},
        },
    ]
    with subprocess.Popen(
        [*isolated(), "mcp", "--vault", str(vault)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        for message in messages:
            server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        replies = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        complaints = server.stderr.read()
    found = next(reply for reply in replies if reply["id"] == 2)
    assert "Bread" in json.dumps(found["result"])
    assert "NETWORK" not in complaints
