"""Vectors to places in the plane, so that near notes have near meanings. The same input gives the same picture.

Begins with the two main axes of the vectors (PCA), then draws each note to its nearest neighbours and pushes it away
from notes drawn at random, in the manner of UMAP (McInnes, Healy and Melville, 2018): far notes are kept apart without
comparing all of them in every round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["place"]

NEIGHBOURS = 12
ROUNDS = 200
PUSHES = 4
"""Notes that each end of a pair is pushed away from in each round."""
A, B = 1.58, 0.9
"""Shape of the force over distance: UMAP's constants for a least distance of 0.1."""
LONGEST_STEP = 4.0
BLOCK = 2_048
"""Notes that are compared with all others at once: bounds memory."""


def place(vectors: NDArray[np.float32], *, seed: int = 7) -> NDArray[np.float32]:
    """Places for notes with these vectors.

    Args:
        vectors: float32, shape (n, dim), unit length.
        seed: Of the random draws.

    Returns:
        float32, shape (n, 2), each coordinate in [0, 1].

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> ends = np.eye(8, dtype=np.float32)[:2]
    >>> near = np.repeat(ends, 20, axis=0) + 0.01 * rng.standard_normal((40, 8), dtype=np.float32)
    >>> places = place(near / np.linalg.norm(near, axis=1, keepdims=True))
    >>> within = np.linalg.norm(places[:20] - places[:20].mean(0), axis=1).max()
    >>> bool(within < np.linalg.norm(places[:20].mean(0) - places[20:].mean(0)))
    True
    """
    import numpy as np

    count = len(vectors)
    if count < 3:
        return np.linspace(0.3, 0.7, 2 * count, dtype=np.float32).reshape(count, 2)
    rng = np.random.default_rng(seed)
    points = _axes(vectors)
    points += 0.01 * rng.standard_normal(points.shape, dtype=np.float32)
    heads, tails, weights = _pairs(vectors)
    for number in range(ROUNDS):
        step = 1.0 - number / ROUNDS
        drawn = rng.random(len(heads)) < weights
        points += step * _forces(points, heads[drawn], tails[drawn], rng)
    # A few notes far out must not squeeze all others into a corner.
    low, high = np.percentile(points, [0.5, 99.5], axis=0)
    scaled = (points - low) / np.maximum(high - low, 1e-6)
    return np.clip(0.02 + 0.96 * scaled, 0, 1).astype(np.float32)


def _axes(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The two directions in which the vectors differ most, scaled to about ten."""
    import numpy as np

    centred = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    # An eigenvector may point either way; the larger entry decides, so that the picture is the same everywhere.
    main = directions[:, [-1, -2]]
    main = main * np.sign(main[np.abs(main).argmax(axis=0), [0, 1]])
    points = centred @ main
    return (10 * points / max(float(np.abs(points).max()), 1e-6)).astype(np.float32)


def _pairs(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Each note with its nearest others, and how often a round draws the pair: 1 for the nearest, less for the rest."""
    import numpy as np

    count = len(vectors)
    near = min(NEIGHBOURS, count - 1)
    tails = np.empty((count, near), dtype=np.int64)
    weights = np.empty((count, near), dtype=np.float32)
    for start in range(0, count, BLOCK):
        block = vectors[start : start + BLOCK] @ vectors.T
        block[np.arange(len(block)), np.arange(start, start + len(block))] = -np.inf
        found = np.argpartition(-block, near - 1, axis=1)[:, :near]
        cosines = np.take_along_axis(block, found, axis=1)
        distances = cosines.max(axis=1, keepdims=True) - cosines
        tails[start : start + BLOCK] = found
        weights[start : start + BLOCK] = np.exp(-distances / np.maximum(distances.mean(axis=1, keepdims=True), 1e-6))
    heads = np.repeat(np.arange(count, dtype=np.int64), near)
    return heads, tails.ravel(), weights.ravel()


def _forces(
    points: NDArray[np.float32], heads: NDArray[np.int64], tails: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float32]:
    import numpy as np

    moved = np.zeros_like(points)
    apart = points[heads] - points[tails]
    squared = np.maximum((apart * apart).sum(axis=1, keepdims=True), 1e-6)
    pull = np.clip(-2 * A * B * squared ** (B - 1) / (1 + A * squared**B) * apart, -LONGEST_STEP, LONGEST_STEP)
    np.add.at(moved, heads, pull)
    np.add.at(moved, tails, -pull)
    for _ in range(PUSHES):
        others = rng.integers(0, len(points), len(heads))
        apart = points[heads] - points[others]
        squared = (apart * apart).sum(axis=1, keepdims=True)
        push = np.clip(2 * B / ((0.001 + squared) * (1 + A * squared**B)) * apart, -LONGEST_STEP, LONGEST_STEP)
        np.add.at(moved, heads, push)
    # A note in many pairs would be thrown about by the sum of all.
    pairs = np.bincount(heads, minlength=len(points)) + np.bincount(tails, minlength=len(points))
    return (0.5 * moved / np.maximum(np.sqrt(pairs), 1)[:, None]).astype(np.float32)
