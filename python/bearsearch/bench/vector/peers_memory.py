"""Engines that hold vectors in memory: numpy, faiss, usearch, turbovec.

Each class is used as `worker` says: `build` once, then `search` many times. Imports of the engines are in
`build`, by name, because they are optional and few have types. One thread everywhere; the worker sets the environment.
"""

from __future__ import annotations

import importlib
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

__all__ = ["FaissBinary", "FaissFlat", "FaissRabitq", "FaissScalar", "Numpy", "Turbovec", "UsearchInt8"]

Floats = npt.NDArray[np.float32]


class MemoryPeer:
    """What the in-memory engines share: nothing on disk, and rows are numbered from 0."""

    name: ClassVar[str]
    setting: ClassVar[str]
    on_disk: ClassVar[bool] = False
    threads: ClassVar[int] = 1

    def build(self, vectors: Floats) -> None:
        """Make everything ready to be searched."""
        raise NotImplementedError

    def search(self, query: Floats, k: int) -> list[int]:
        """Return row numbers, nearest first."""
        raise NotImplementedError


class Numpy(MemoryPeer):
    """A matrix product and a partition."""

    name = "numpy"
    setting = "exact float32"

    def build(self, vectors: Floats) -> None:
        """Copy the vectors."""
        self._vectors = np.array(vectors)

    def search(self, query: Floats, k: int) -> list[int]:
        """Multiply, partition, sort."""
        scores = self._vectors @ query
        nearest = np.argpartition(-scores, k)[:k]
        return nearest[np.argsort(-scores[nearest])].tolist()


class _Faiss(MemoryPeer):
    name = "faiss"

    def _index(self, faiss: Any, dim: int) -> Any:
        raise NotImplementedError

    def build(self, vectors: Floats) -> None:
        """Train and add."""
        faiss: Any = importlib.import_module("faiss")
        faiss.omp_set_num_threads(1)
        self._built: Any = self._index(faiss, vectors.shape[1])
        rows = np.array(vectors)
        self._built.train(rows)
        self._built.add(rows)

    def search(self, query: Floats, k: int) -> list[int]:
        """Ask the index."""
        return self._built.search(query[np.newaxis], k)[1][0].tolist()


class FaissFlat(_Faiss):
    """IndexFlatIP."""

    setting = "flat, exact float32"

    def _index(self, faiss: Any, dim: int) -> Any:
        return faiss.IndexFlatIP(dim)


class FaissScalar(_Faiss):
    """Eight bits per dimension, no rescoring."""

    setting = "SQ8"

    def _index(self, faiss: Any, dim: int) -> Any:
        return faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)


class FaissRabitq(_Faiss):
    """RaBitQ with fast scan; 20 * k candidates are refined exactly."""

    setting = "RaBitQ fast-scan, refine x20"
    factor = 20

    def _index(self, faiss: Any, dim: int) -> Any:
        self._base = faiss.IndexRaBitQFastScan(dim, faiss.METRIC_INNER_PRODUCT)  # kept: the other only borrows it
        refined = faiss.IndexRefineFlat(self._base)
        refined.k_factor = self.factor
        return refined


class FaissRabitqWide(FaissRabitq):
    """The same with more candidates, for recall like ours."""

    setting = "RaBitQ fast-scan, refine x50"
    factor = 50


class FaissBinary(MemoryPeer):
    """Signs in an IndexBinaryFlat; 50 * k candidates are measured exactly by numpy."""

    name = "faiss"
    setting = "binary, rescore x50"

    def build(self, vectors: Floats) -> None:
        """Pack signs and keep the vectors."""
        faiss: Any = importlib.import_module("faiss")
        faiss.omp_set_num_threads(1)
        self._vectors = np.array(vectors)
        self._built: Any = faiss.IndexBinaryFlat(-(-vectors.shape[1] // 8) * 8)
        self._built.add(np.packbits(self._vectors > 0, axis=1))

    def search(self, query: Floats, k: int) -> list[int]:
        """Hamming first, then exact."""
        rows = self._built.search(np.packbits(query > 0)[np.newaxis], 50 * k)[1][0]
        return rows[np.argsort(-(self._vectors[rows] @ query))[:k]].tolist()


class UsearchInt8(MemoryPeer):
    """Exact search over int8."""

    name = "usearch"
    setting = "exact over int8"

    def build(self, vectors: Floats) -> None:
        """Scale to int8."""
        self._usearch: Any = importlib.import_module("usearch.index")
        self._scale = 127 / float(np.abs(vectors).max())
        self._rows = np.round(np.array(vectors) * self._scale).astype(np.int8)

    def search(self, query: Floats, k: int) -> list[int]:
        """Ask the exact search."""
        coded = np.clip(np.round(query * self._scale), -127, 127).astype(np.int8)
        found = self._usearch.search(self._rows, coded, k, self._usearch.MetricKind.Cos, exact=True, threads=1)
        return found.keys.tolist()


class Turbovec(MemoryPeer):
    """Four bits per dimension; 10 * k candidates are measured exactly by numpy."""

    name = "turbovec"
    setting = "4-bit, rescore x10"

    def build(self, vectors: Floats) -> None:
        """Add and prepare."""
        turbovec: Any = importlib.import_module("turbovec")
        self._vectors = np.array(vectors)
        self._built: Any = turbovec.TurboQuantIndex(vectors.shape[1], bit_width=4)
        self._built.add(self._vectors)
        self._built.prepare()

    def search(self, query: Floats, k: int) -> list[int]:
        """Estimates first, then exact."""
        rows = self._built.search(query[np.newaxis], 10 * k)[1][0]
        return rows[np.argsort(-(self._vectors[rows] @ query))[:k]].tolist()
