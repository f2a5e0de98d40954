"""Kills processes that write an index, at random moments, and proves each time that nothing was lost.

    python tests/torture.py --runs 500 --seed 1 --json figures.json

A run takes an index in a known state, lets a child process work on it, and kills that with SIGKILL after a random part
of the time that the work takes; sometimes the next child that goes on is killed as well. Then, in another child: the
index opens, SQLite's integrity check passes, what was in it before is still answered, and once the work is done anew
all answers, texts and vectors are those of an index that was never disturbed.

The model is made up (a hash of the text), because 500 runs of a real one would take hours and a kill meets the same
writes: everything that stores, quantizes and migrates is real. The parent never opens an index, so that its children
can be forked from it with everything imported.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a fork must not happen beside threads

import numpy as np
from numpy.typing import NDArray

from bearsearch import Index
from bearsearch.errors import IndexCorruptError

DIM = 32
NOTES = 450
"""Three passages each: more than the engine scans without quantizing them."""

WORDS = ("anchor", "bread", "candle", "dune", "ember", "fjord", "glacier", "harbour", "island", "jetty", "kelp")
SCHEMAS = Path(__file__).parent / "data"


class MadeUpModel:
    """Vectors that depend on the text alone."""

    name = "made up"
    dim = DIM
    max_tokens = 512
    document_prefix = query_prefix = ""
    windowed = 0
    floor = 0.0

    def __init__(self, fingerprint: str = "made up") -> None:
        self.fingerprint = fingerprint

    def fluency(self, text: str) -> float:
        return 1.0

    def embed_documents(self, texts: Sequence[str], *, threads: int | None = None) -> NDArray[np.float32]:
        return np.stack([self.embed_query(text) for text in texts]) if texts else np.empty((0, DIM), np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.sha256((self.fingerprint + text).encode()).digest()[:8])
        vector = np.random.default_rng(seed).standard_normal(DIM).astype(np.float32)
        return vector / np.linalg.norm(vector)


def write_vault(vault: Path, *, edition: int) -> None:
    """The notes; the second edition changes, removes and adds a third of them."""
    vault.mkdir(parents=True)
    rng = random.Random(3)
    for number in range(NOTES):
        sections = [f"## Part {part}\n\nmark{number}x{part} " + " ".join(rng.choices(WORDS, k=60)) for part in range(3)]
        if edition == 2 and number % 9 == 0:
            continue
        if edition == 2 and number % 9 == 1:
            sections[1] += f"\n\nlighthouse{number}"
        name = f"new{number}.md" if edition == 2 and number % 9 == 2 else f"{number}.md"
        text = f"# Note {number}\n\n#tag{number % 4} [[Note {number + 1}]]\n\n" + "\n\n".join(sections) + "\n"
        (vault / name).write_text(text, encoding="utf-8")


def opened(path: Path, vault: Path) -> Index:
    """An index that embeds with the made-up model."""
    index = Index(path, vault=vault)
    index._open.models.embedder = MadeUpModel()
    return index


def answers(index: Index) -> list[object]:
    """Everything that a person can see of the index, and every stored vector."""
    found: list[object] = []
    # Which of the nearest are shown depends on the order in which codes were made, so of the vectors themselves, below,
    # every bit is compared, and here only that they are searched.
    assert len(index.search("harbour lagoon", mode="vector", limit=8).hits) == 8
    for query in ("mark17x1", "lighthouse10", "harbour lagoon", "tag:tag3 kelp"):
        hits = index.search(query, mode="fts", limit=10_000).hits
        # Equal scores are told apart by the order in which notes came.
        found.append(sorted((-round(hit.score, 6), hit.id, hit.lines, hit.snippet) for hit in hits))
    found.append([(note.id, note.tags) for note in sorted(index.list(limit=10_000).notes, key=lambda note: note.id)])
    found.append([(tag.name, tag.count) for tag in index.tags()])
    # Counts are kept by every write, not taken at its end.
    engine = index._open.engine
    sources = [[row[count] for count in ("documents", "archived", "locked", "hidden")] for row in engine.sources()]
    found.append((sources, engine.status()["chunks"]))
    live = next(model for model in engine.models() if model["live"])
    vectors = engine.sample(live["id"], 10**6)
    digest = hashlib.sha256()
    for text, vector in sorted(vectors):
        digest.update(text.encode() + np.asarray(vector, np.float32).tobytes())
    found.append((len(vectors), digest.hexdigest()))
    return json.loads(json.dumps(found))


def forked(work: Callable[[], object]) -> tuple[int, int]:
    """Runs `work` in a child; returns its process id and a descriptor on which it writes one JSON document."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    code = 1
    faulthandler.dump_traceback_later(120, exit=True)  # a child that hangs is a failure
    try:
        os.close(reader)
        document = {"value": work()}
        code = 0
    except BaseException:
        document = {"error": traceback.format_exc()}
    try:
        with os.fdopen(writer, "w", encoding="utf-8") as pipe:
            json.dump(document, pipe)
    finally:
        os._exit(code)


def result(pid: int, reader: int) -> object:
    """What a child said.

    Raises:
        AssertionError: It failed.
    """
    with os.fdopen(reader, encoding="utf-8") as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    document = json.loads(said)
    assert "error" not in document, document["error"]
    return document["value"]


def killed_after(work: Callable[[], object], seconds: float) -> bool:
    """Whether the child was still at work when it was killed."""
    pid, reader = forked(work)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(reader)
    return os.WIFSIGNALED(status)


class Stage:
    """The states that runs start from, the work that is done to them, and what must come out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.editions = {edition: folder / f"edition{edition}" for edition in (1, 2)}
        for edition, vault in self.editions.items():
            write_vault(vault, edition=edition)
        self.vault = folder / "vault"
        self.show(1)
        self.bare = folder / "bare.sqlite"
        self.full = folder / "full.sqlite"
        self.damaged = folder / "damaged.sqlite"
        result(*forked(lambda: self._build(self.bare, embed=False)))
        result(*forked(lambda: self._build(self.full, embed=True)))
        self.right = {1: result(*forked(lambda: self._fresh()))}
        self.show(2)
        self.right[2] = result(*forked(lambda: self._fresh()))
        data = bytearray(self.full.read_bytes())
        data[8192 * 7 : 8192 * 8] = bytes(8192)
        self.damaged.write_bytes(data)
        self.damaged.chmod(0o600)

    def show(self, edition: int) -> None:
        """Makes the vault this edition. The path stays the same, as it does for a person."""
        if self.vault.is_symlink():
            self.vault.unlink()
        shutil.rmtree(self.vault, ignore_errors=True)
        shutil.copytree(self.editions[edition], self.vault)

    def _build(self, path: Path, *, embed: bool) -> None:
        with opened(path, self.vault) as index:
            index.sync()
            if embed:
                index.embed()

    def _fresh(self) -> list[object]:
        path = self.folder / "fresh.sqlite"
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        with opened(path, self.vault) as index:
            index.sync()
            index.embed()
            return answers(index)

    def start(self, kind: str, rng: random.Random, path: Path) -> tuple[Callable[[], object], int]:
        """Puts an index at `path` and returns the work that is to be interrupted, and the vault's edition."""
        if kind == "first index":
            self.show(1)
            return lambda: self.finish(path), 1
        if kind == "index":
            shutil.copy(self.full, path)
            self.show(2)
            return lambda: self.finish(path), 2
        if kind == "embed":
            shutil.copy(self.bare, path)
            self.show(1)
            return lambda: self.finish(path), 1
        if kind == "quantize":
            shutil.copy(self.full, path)
            self.show(1)
            codec = rng.choice(["int8", "rabitq4"])
            return lambda: self.quantize(path, codec), 1
        if kind == "mend":
            shutil.copy(self.damaged, path)
            self.show(1)
            return lambda: self.finish(path), 1
        shutil.copy(SCHEMAS / f"index-schema-{rng.randrange(1, 6)}.sqlite", path)
        path.chmod(0o600)
        return lambda: self.migrate(path), 0

    def finish(self, path: Path) -> list[object]:
        """The work of `bearsearch index`."""
        with opened(path, self.vault) as index:
            index.sync()
            index.embed()
            return []

    def quantize(self, path: Path, codec: str) -> list[object]:
        """Codes for all vectors, anew."""
        with opened(path, self.vault) as index:
            assert index._open.engine.quantize(codec)
            return []

    def migrate(self, path: Path) -> list[object]:
        """Opening is enough."""
        with Index(path, semantic=False):
            return []

    def verify(self, path: Path, edition: int) -> list[object]:
        """What a person meets after the kill, and what a finished index then answers."""
        modes = {each.name: oct(each.stat().st_mode & 0o777) for each in path.parent.glob("index*")}
        assert set(modes.values()) <= {"0o600"}, modes
        if edition == 0:
            with Index(path, semantic=False) as index:
                index._open.engine.check()
                engine = index._open.engine
                model = next(model for model in engine.models() if model["live"])
                coverage = engine.coverage(model["id"])
                assert (coverage["embedded"], coverage["pending"]) == (4, 0), coverage
                texts = [text for text, _ in engine.sample(model["id"], 10)]
                assert len(texts) == 4
            return []
        with opened(path, self.vault) as index:
            try:
                index._open.engine.check()
            except IndexCorruptError:
                assert path.with_name("damage expected").exists(), "the kill damaged the index"
            found = index.search("mark18x0", mode="fts", limit=1)
            assert [hit.id for hit in found.hits] == ["18.md"] or edition == 2, found
            index.sync()
            report = index.embed()
            assert report.pending == report.failed == 0, report
            index._open.engine.check()
            return answers(index)


KINDS = ("index", "embed", "quantize", "migration", "first index", "mend")


def torture(runs: int, seed: int, folder: Path, *, progress: bool) -> dict[str, object]:
    """Does so many runs and returns their figures.

    Raises:
        AssertionError: An index did not survive; says which run of which seed.
    """
    stage = Stage(folder)
    rng = random.Random(seed)
    longest: dict[str, float] = {}
    counts: Counter[str] = Counter()
    at_work: Counter[str] = Counter()
    verify_ms: list[float] = []
    for run in range(runs):
        kind = KINDS[run % len(KINDS)]
        home = folder / f"run{run}"
        home.mkdir()
        path = home / "index.sqlite"
        work, edition = stage.start(kind, rng, path)
        if kind == "mend":
            (home / "damage expected").touch()
        if kind not in longest:
            # Once undisturbed, to know how long it takes.
            spare = folder / "spare" / "index.sqlite"
            spare.parent.mkdir(exist_ok=True)
            whole, _ = stage.start(kind, random.Random(seed), spare)
            began = time.perf_counter()
            result(*forked(whole))
            longest[kind] = time.perf_counter() - began
            shutil.rmtree(spare.parent)
        kills = rng.choice((1, 1, 1, 2, 3))
        for _ in range(kills):
            at_work[kind] += killed_after(work, rng.random() * longest[kind])
            counts[kind] += 1
        began = time.perf_counter()
        try:
            seen = result(*forked(lambda path=path, edition=edition: stage.verify(path, edition)))
            assert edition == 0 or seen == stage.right[edition], "the answers differ from those of a fresh index"
            left = sorted(each.name for each in home.iterdir() if each.name != "damage expected")
            assert left == ["index.sqlite"], f"files were left behind: {left}"
        except AssertionError as error:
            raise AssertionError(f"run {run} of seed {seed} ({kind}, kept in '{home}'): {error}") from error
        verify_ms.append((time.perf_counter() - began) * 1000)
        shutil.rmtree(home)
        if progress and run % 25 == 24:
            print(f"{run + 1} of {runs}", file=sys.stderr, flush=True)
    return {
        "runs": runs,
        "seed": seed,
        "kills": dict(counts),
        "killed at work": dict(at_work),
        "undisturbed work, seconds": {kind: round(seconds, 3) for kind, seconds in longest.items()},
        "verification, median ms": round(statistics.median(verify_ms), 1),
        "lost": 0,
    }


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("BEARSEARCH_")]:
        del os.environ[name]
    folder = Path(tempfile.mkdtemp(prefix="bearsearch-torture-"))
    os.environ["BEARSEARCH_HOME"] = str(folder / "home")
    figures = torture(arguments.runs, arguments.seed, folder, progress=not arguments.quiet)
    shutil.rmtree(folder)
    text = json.dumps(figures, indent=2)
    print(text)
    if arguments.json is not None:
        arguments.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
