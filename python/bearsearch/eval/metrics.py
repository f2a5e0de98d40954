"""How good a ranking is, in numbers; and whether two systems differ by more than chance.

Lives here: arithmetic on ids, gains and per-query scores. Not here: where rankings come from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["mean", "mrr_at_k", "ndcg_at_k", "paired_p_value", "percentile", "recall_at_k"]

ROUNDS = 10_000
"""Sign flips of a permutation test: its smallest p-value is 1 / 10,001."""

SEED = 20_240_229


def _check(ranking: Sequence[str], k: int) -> None:
    if k < 1:
        raise ValueError(f"k is {k}; a ranking is cut at depth 1 or more")
    if len(set(ranking)) != len(ranking):
        raise ValueError("the ranking holds an id twice; count each document once, at its best rank")


def ndcg_at_k(ranking: Sequence[str], gains: Mapping[str, int], *, k: int) -> float:
    """Normalized discounted cumulative gain of one ranking, cut at depth ``k``.

    Gain is linear and divided by ``log2(rank + 1)``, ranks counted from 1; the sum is divided by
    that of the best possible ranking.

    Args:
        ranking: Document ids, best first, no id twice; ids past ``k`` do not count.
        gains: Judged relevance per document id, 0 or more; an id without a judgement counts 0.
        k: Depth, at least 1.

    Returns:
        A ratio in [0, 1], no unit; 0.0 when no document has a gain above 0.

    Raises:
        ValueError: ``k`` is below 1, or ``ranking`` holds an id twice.

    Source: Järvelin and Kekäläinen, TOIS 2002; gain and discount in trec_eval's form.

    >>> round(ndcg_at_k(["a", "b", "c"], {"b": 3, "c": 1}, k=2), 4)
    0.5213
    """
    _check(ranking, k)
    best = _discounted(sorted(gains.values(), reverse=True)[:k])
    return _discounted([gains.get(document, 0) for document in ranking[:k]]) / best if best else 0.0


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def recall_at_k(ranking: Sequence[str], gains: Mapping[str, int], *, k: int) -> float:
    """The share of the relevant documents that stand among the first ``k``.

    Args:
        ranking: As in `ndcg_at_k`.
        gains: As in `ndcg_at_k`; a document is relevant when its gain is above 0.
        k: Depth, at least 1. With more than ``k`` relevant documents 1.0 cannot be reached.

    Returns:
        A ratio in [0, 1]; 0.0 when no document is relevant.

    Raises:
        ValueError: As for `ndcg_at_k`.

    >>> recall_at_k(["a", "b", "c"], {"b": 1, "d": 1}, k=2)
    0.5
    """
    _check(ranking, k)
    relevant = {document for document, gain in gains.items() if gain > 0}
    return len(relevant.intersection(ranking[:k])) / len(relevant) if relevant else 0.0


def mrr_at_k(ranking: Sequence[str], gains: Mapping[str, int], *, k: int) -> float:
    """One over the rank of the first relevant document, 0.0 when none stands among the first ``k``.

    Args:
        ranking: As in `ndcg_at_k`.
        gains: As in `recall_at_k`.
        k: Depth, at least 1.

    Raises:
        ValueError: As for `ndcg_at_k`.

    >>> mrr_at_k(["a", "b"], {"b": 1}, k=10)
    0.5
    """
    _check(ranking, k)
    for rank, document in enumerate(ranking[:k], 1):
        if gains.get(document, 0) > 0:
            return 1 / rank
    return 0.0


def paired_p_value(ours: Sequence[float], theirs: Sequence[float], *, rounds: int = ROUNDS, seed: int = SEED) -> float:
    """How likely two systems that are equally good differ as much as these by chance.

    A two-sided paired permutation test: under the null hypothesis the sign of each query's difference is arbitrary,
    so signs are flipped at random, and the share of flips counts whose mean is at least as far from 0.

    Args:
        ours: One score per query.
        theirs: The other system's scores of the same queries in the same order.
        rounds: Random flips; the p-value is no finer than 1 / (rounds + 1).
        seed: Of the random flips; the same seed gives the same value.

    Returns:
        A probability in (0, 1]; 1.0 when there is no query or no difference.

    Raises:
        ValueError: The sequences differ in length.

    Source: Fisher's randomization test as recommended by Smucker, Allan and Carterette, CIKM 2007.
    """
    if len(ours) != len(theirs):
        raise ValueError(
            f"{len(ours)} scores stand against {len(theirs)}; give both systems' scores of the same queries"
        )
    import numpy as np

    differences: NDArray[np.float64] = np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64)
    differences = differences[differences != 0]
    if differences.size == 0:
        return 1.0
    observed = abs(differences.sum())
    random = np.random.default_rng(seed)
    extreme = 0
    # In blocks, so that thousands of queries take megabytes and not gigabytes.
    block = max(1, 2**20 // differences.size)
    for start in range(0, rounds, block):
        signs = random.integers(0, 2, size=(min(block, rounds - start), differences.size), dtype=np.int8) * 2 - 1
        # The tolerance lets equal sums be equal whatever the order of their terms.
        extreme += int((np.abs(signs @ differences) >= observed - 1e-9).sum())
    return (extreme + 1) / (rounds + 1)


def mean(values: Sequence[float]) -> float:
    """The mean; 0.0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` of the values do not exceed; 0.0 of nothing.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 0.5)
    2.0
    """
    if not values:
        return 0.0
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
