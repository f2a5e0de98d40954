"""Collections of vectors: generated ones with fixed seeds, and real ones from files.

A collection is a folder with ``vectors.npy``, ``queries.npy`` (float32, C-contiguous, shape (n, dim)) and
``truth.npy`` (int64, shape (queries, k): row numbers of the exact nearest, nearest first).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["Collection", "clustered", "from_files", "seed_protocol"]

Floats = npt.NDArray[np.float32]

_BLOCK = 50_000  # rows that are generated or compared at a time


@dataclass(frozen=True)
class Collection:
    """A collection on disk; vectors are of unit length, distances are 1 - cosine."""

    name: str
    folder: Path
    n: int
    dim: int
    k: int

    def vectors(self) -> Floats:
        """Return all rows, mapped read-only, not loaded."""
        return np.load(self.folder / "vectors.npy", mmap_mode="r")

    def queries(self) -> Floats:
        """Return the queries, which are no rows."""
        return np.load(self.folder / "queries.npy")

    def truth(self) -> npt.NDArray[np.int64]:
        """Return the row numbers of the exact nearest ``k`` of each query."""
        return np.load(self.folder / "truth.npy")


def clustered(
    folder: Path, n: int, *, dim: int = 384, clusters: int = 4000, queries: int = 200, k: int = 10
) -> Collection:
    """Make ``n`` vectors around ``clusters`` centres, elongated differently in each cluster, off the origin.

    The spread within a cluster is as wide as that of the centres, its directions have a decaying spectrum like
    that of text embeddings, and a random rotation leaves no axis special. Queries come from the same clusters.
    """

    def generate(rows: int, stream: int) -> Floats:
        rng = np.random.default_rng([20260410, stream])
        out = np.empty((rows, dim), np.float32)
        for start in range(0, rows, _BLOCK):
            size = min(_BLOCK, rows - start)
            which = rng.integers(0, clusters, size)
            noise = rng.standard_normal((size, dim), dtype=np.float32) * widths[which]
            points = (centres[which] + noise + offset) @ rotation
            out[start : start + size] = points / np.linalg.norm(points, axis=1, keepdims=True)
        return out

    shape = np.random.default_rng(20260410)
    spectrum = ((1 + np.arange(dim)) ** -0.3).astype(np.float32)
    centres = shape.standard_normal((clusters, dim), dtype=np.float32) * spectrum
    widths = (0.2 + 1.6 * shape.random((clusters, dim), dtype=np.float32)) * spectrum
    offset = shape.standard_normal(dim, dtype=np.float32) * spectrum * 0.5
    rotation = np.linalg.qr(shape.standard_normal((dim, dim)))[0].astype(np.float32)
    return _stored(folder, f"clustered-{n}", k, lambda: (generate(n, 1), generate(queries, 2)))


def seed_protocol(folder: Path) -> Collection:
    """Make the small collection: 1,500 documents in 50 clusters, 64 dimensions, 50 queries, k = 10.

    The clusters are tight (noise 0.3 against centres of 1 per dimension): sign codes alone find about half of
    the true neighbours in it.
    """

    def generate() -> tuple[Floats, Floats]:
        rng = np.random.default_rng(42)
        centres = rng.standard_normal((50, 64))
        points = centres[rng.integers(0, 50, 1550)] + 0.3 * rng.standard_normal((1550, 64))
        unit = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
        return unit[:1500], unit[1500:]

    return _stored(folder, "seed-protocol", 10, generate)


def from_files(folder: Path, vectors: Path, queries: Path | None, *, k: int = 10) -> Collection:
    """Take embeddings from files; without queries every 50th row is held out as one.

    Raises:
        ValueError: a file holds no float32 array of shape (n, dim), or the shapes do not fit.
    """
    rows: Floats = np.load(vectors)
    asked: Floats | None = np.load(queries) if queries is not None else None
    for path, array in ((vectors, rows), (queries, asked)):
        if array is not None and (array.ndim != 2 or array.dtype != np.float32 or array.shape[1] != rows.shape[-1]):
            raise ValueError(f"'{path}' holds {array.dtype} of shape {array.shape}, expected float32 of shape (n, dim)")

    def split() -> tuple[Floats, Floats]:
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        if asked is not None:
            return unit, asked / np.linalg.norm(asked, axis=1, keepdims=True)
        held = np.arange(len(unit)) % 50 == 25
        return unit[~held], unit[held]

    return _stored(folder, f"real-{vectors.stem}", k, split, reuse=False)


def _stored(
    folder: Path, name: str, k: int, make: Callable[[], tuple[Floats, Floats]], *, reuse: bool = True
) -> Collection:
    """Write a collection with its exact neighbours, or find it written."""
    target = folder / name
    if not (reuse and (target / "truth.npy").exists()):
        target.mkdir(parents=True, exist_ok=True)
        vectors, queries = make()
        np.save(target / "vectors.npy", np.ascontiguousarray(vectors, np.float32))
        np.save(target / "queries.npy", np.ascontiguousarray(queries, np.float32))
        np.save(target / "truth.npy", _nearest(vectors, queries, k))
    rows = np.load(target / "vectors.npy", mmap_mode="r")
    return Collection(name, target, rows.shape[0], rows.shape[1], k)


def _nearest(vectors: Floats, queries: Floats, k: int) -> npt.NDArray[np.int64]:
    """Return the exact nearest ``k`` rows of each query, by cosine of unit vectors, nearest first."""
    best: npt.NDArray[np.int64] = np.empty((len(queries), 0), np.int64)
    scores: Floats = np.empty((len(queries), 0), np.float32)
    for start in range(0, len(vectors), _BLOCK):
        block: Floats = queries @ vectors[start : start + _BLOCK].T
        numbers = np.tile(np.arange(start, start + block.shape[1], dtype=np.int64), (len(queries), 1))
        scores = np.concatenate((scores, block), axis=1)
        best = np.concatenate((best, numbers), axis=1)
        keep = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        scores, best = np.take_along_axis(scores, keep, 1), np.take_along_axis(best, keep, 1)
    return best
