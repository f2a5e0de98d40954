"""What a person sees when the index file is damaged or its disk is full: right answers, and a sentence that says so.

The engine's side is `tests/safety.rs`. Vectors are made up here, because what is tested is whether they survive.
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from bearsearch import Index
from bearsearch.errors import IndexCorruptError

PAGE = 8192
WORDS = (
    "anchor",
    "bread",
    "candle",
    "dune",
    "ember",
    "fjord",
    "glacier",
    "harbour",
    "island",
    "jetty",
    "kelp",
    "lagoon",
)
DIM = 384


class Library(NamedTuple):
    """A vault, the bytes of its index, and what it answers."""

    vault: Path
    index: bytes
    answers: list[object]
    texts: int


def write_notes(vault: Path, count: int) -> None:
    """So many notes of a few sections, the same ones each time."""
    rng = random.Random(7)
    vault.mkdir()
    for number in range(count):
        sections = (f"## Part {part}\n\n" + " ".join(rng.choices(WORDS, k=120)) for part in range(3))
        text = f"# Note {number}\n\nmark{number} #tag{number % 5}\n\n" + "\n\n".join(sections) + "\n"
        (vault / f"{number}.md").write_text(text, encoding="utf-8")


def embed(index: Index) -> int:
    """Gives every waiting text a vector that depends on it alone; returns their number."""
    engine = index._open.engine
    model = engine.use_model("made up", "made up", DIM)["id"]
    waiting = engine.pending(model, 0, 100_000)
    for text_id, text in waiting:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])
        vector = np.random.default_rng(seed).standard_normal((1, DIM)).astype(np.float32)
        vector /= np.linalg.norm(vector)
        engine.add_embeddings(model, np.array([text_id], dtype=np.int64), vector)
    return len(waiting)


def answers(index: Index) -> list[object]:
    """What a person would see, without the scores' last digits."""
    hits = [index.search(query, limit=5).hits for query in ("mark17", "mark4 OR mark31", "harbour lagoon tag:tag3")]
    notes = index.get(["Note 3", "40.md"]).notes
    listed = index.list(limit=100, tags=["tag2"])
    return [
        [(hit.id, hit.lines, hit.snippet) for found in hits for hit in found],
        [note.text for note in notes],
        sorted(note.id for note in listed.notes),
        [(tag.name, tag.count) for tag in index.tags()],
    ]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Enough notes for an index of two hundred pages."""
    folder = tmp_path_factory.mktemp("damage")
    write_notes(folder / "vault", 165)
    path = folder / "index.sqlite"
    with Index(path, vault=folder / "vault", semantic=False) as index:
        index.sync()
        texts = embed(index)
        right = answers(index)
    whole = path.read_bytes()
    assert len(whole) >= 200 * PAGE
    return Library(folder / "vault", whole, right, texts)


def embedded(index: Index) -> int:
    """Texts with a vector."""
    model = next(iter(index._open.engine.models()), None)
    return index._open.engine.coverage(model["id"])["embedded"] if model else 0


@pytest.mark.timeout(600)
def test_a_flipped_byte_in_any_page_changes_no_answer(home: Path, library: Library, tmp_path: Path) -> None:
    rng = random.Random(11)
    lost: list[int] = []
    built_again = 0
    for page in range(len(library.index) // PAGE):
        folder = tmp_path / str(page)
        folder.mkdir()
        path = folder / "index.sqlite"
        damaged = bytearray(library.index)
        damaged[page * PAGE + rng.randrange(PAGE)] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        inode = path.stat().st_ino
        with Index(path, vault=library.vault, semantic=False) as index:
            assert answers(index) == library.answers, f"page {page}"
            # What no answer has touched yet is found by a full check, and mended by the next sync.
            try:
                index._open.engine.check()
            except IndexCorruptError:
                assert "damaged" in index.sync().notices[0]
                index._open.engine.check()
            assert answers(index) == library.answers, f"page {page}"
            lost.append(library.texts - embedded(index))
        built_again += path.stat().st_ino != inode
        assert [each.name for each in folder.iterdir()] == ["index.sqlite"], f"page {page}"
        shutil.rmtree(folder)
    assert built_again > 0.9 * len(lost), "the others are pages that are not in use"
    # A page holds five of these vectors or the hashes of two hundred texts, or the one row that says whose they are.
    assert sum(count > 31 for count in lost) <= 1
    assert sum(lost) < 3 * library.texts


def run(program: str, *arguments: Path, before: tuple[str, ...] = ()) -> dict[str, object]:
    """Runs a Python program in a process of its own and returns the JSON that it prints last."""
    command = [*before, sys.executable, "-W", "error", "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


WITHOUT_PRIVILEGES = (
    ()
    if os.geteuid() != 0
    else (
        "setpriv",
        "--bounding-set=-dac_override,-dac_read_search",
        "--inh-caps=-dac_override,-dac_read_search",
    )
)
"""Root may write everywhere; what is tested here is what others meet."""

ASK = """
import json, sys
from bearsearch import Index, IndexUnavailableError
with Index(sys.argv[1], vault=sys.argv[2], semantic=False) as index:
    found = index.search(sys.argv[3])
    try:
        index.sync()
        written = True
    except IndexUnavailableError as error:
        written = str(error)
print(json.dumps({"first": found.hits[0].id, "stale": found.index.stale,
                  "notices": found.notices, "written": written}))
"""


@pytest.fixture
def built(library: Library, tmp_path: Path) -> Path:
    """The path of an index in a folder of its own."""
    path = tmp_path / "kept" / "index.sqlite"
    path.parent.mkdir()
    path.write_bytes(library.index)
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="modes of folders mean nothing there")
@pytest.mark.parametrize("file_mode", [0o400, 0o600])
def test_an_index_that_may_not_be_written_answers_and_says_so(
    home: Path, library: Library, built: Path, file_mode: int
) -> None:
    note = library.vault / "new.md"
    built.chmod(file_mode)
    built.parent.chmod(0o500)
    try:
        same = run(ASK, built, library.vault, Path("mark17"), before=WITHOUT_PRIVILEGES)
        note.write_text("# New\n\nzygomorphic\n", encoding="utf-8")
        newer = run(ASK, built, library.vault, Path("mark17"), before=WITHOUT_PRIVILEGES)
    finally:
        built.parent.chmod(0o700)
        note.unlink(missing_ok=True)
    assert (same["first"], same["stale"]) == ("17.md", False)
    assert (newer["first"], newer["stale"]) == ("17.md", True)
    assert "cannot be brought up to date" in str(newer["notices"])
    assert "cannot be brought up to date" in str(newer["written"])
    assert built.read_bytes() == library.index


FILL = """
import json, pathlib, sys
from bearsearch import Index, IndexUnavailableError
folder, vault, fresh = (pathlib.Path(argument) for argument in sys.argv[1:])
path = folder / "index.sqlite"
with Index(path, vault=vault, semantic=False) as index:
    index.sync()
ballast = folder / "ballast"
with ballast.open("wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError:
        pass
for number in range(300):
    (vault / f"more{number}.md").write_text(f"# More {number}\\n\\n" + f"lighthouse{number} " * 40, encoding="utf-8")
with Index(path, vault=vault, semantic=False) as index:
    old = index.search("mark17").hits[0].id
    stale = index.search("mark17").index.stale
    try:
        index.sync()
        full = ""
    except IndexUnavailableError as error:
        full = str(error)
    ballast.unlink()
    index.sync()
    index._open.engine.check()
    new = [hit.id for hit in index.search("lighthouse299").hits]
with Index(fresh, vault=vault, semantic=False) as index:
    index.sync()
    expected = [hit.id for hit in index.search("lighthouse299").hits]
names = sorted(each.name for each in folder.iterdir())
print(json.dumps({"old": old, "stale": stale, "full": full, "new": new, "expected": expected, "names": names}))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a file system of a chosen size")
def test_a_full_disk_costs_nothing_but_freshness(home: Path, library: Library, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    vault = tmp_path / "vault"
    shutil.copytree(library.vault, vault)
    mount = f'mount -t tmpfs -o size=4m tmpfs "{small}" && exec "$@"'
    before = ("unshare", "--mount", "sh", "-c", mount, "sh")
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not mount a file system")
    told = run(FILL, small, vault, tmp_path / "fresh.sqlite", before=before)
    assert (told["old"], told["stale"]) == ("17.md", True)
    assert "the disk is full" in str(told["full"])
    assert told["new"] == told["expected"]
    assert told["new"][:1] == ["more299.md"]
    assert told["names"] == ["index.sqlite"]


def test_a_running_service_answers_from_the_file_that_its_path_names_now(
    home: Path, library: Library, built: Path, tmp_path: Path
) -> None:
    other_vault, other = tmp_path / "other", tmp_path / "other.sqlite"
    other_vault.mkdir()
    (other_vault / "only.md").write_text("# Only\n\nzygomorphic\n", encoding="utf-8")
    with Index(other, vault=other_vault, semantic=False) as index:
        index.sync()
    with Index(built, vault=library.vault, semantic=False) as index:
        assert [hit.id for hit in index.search("mark17", limit=1).hits] == ["17.md"]
        other.replace(built)
        assert [source["path"] for source in index._open.engine.sources()] == [str(other_vault)]
        # What it is asked to read is read into the new file.
        assert [hit.id for hit in index.search("mark17", limit=1).hits] == ["17.md"]
        assert len(index._open.engine.sources()) == 2
        index._open.engine.check()
