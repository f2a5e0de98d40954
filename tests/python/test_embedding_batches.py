"""Planning of batches, and the threads that carry them out."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bearsearch.embedding.batches import plan, run_side_by_side

FIXED = settings(derandomize=True, deadline=None)


@FIXED
@given(
    lengths=st.lists(st.integers(1, 600), max_size=80),
    batch_tokens=st.integers(1, 1000),
    batch_texts=st.integers(1, 16),
)
def test_a_plan_holds_every_text_once_and_keeps_both_bounds(
    lengths: list[int], batch_tokens: int, batch_texts: int
) -> None:
    batches = plan(lengths, batch_tokens=batch_tokens, batch_texts=batch_texts)
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        assert 1 <= len(batch) <= batch_texts
        assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= batch_tokens
    longest = [max(lengths[i] for i in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)


@FIXED
@given(lengths=st.lists(st.integers(1, 256), min_size=1, max_size=200))
def test_padding_wastes_less_than_in_the_order_given(lengths: list[int]) -> None:
    def padded(batches: list[list[int]]) -> int:
        return sum(max(lengths[i] for i in batch) * len(batch) for batch in batches)

    as_given = [list(range(start, min(start + 8, len(lengths)))) for start in range(0, len(lengths), 8)]
    assert padded(plan(lengths, batch_tokens=10**9, batch_texts=8)) <= padded(as_given)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_each_batch_runs_once_and_all_have_run_on_return(threads: int, count: int) -> None:
    done: list[int] = []
    run_side_by_side([[i] for i in range(count)], lambda batch: done.append(batch[0]), threads=threads)
    assert sorted(done) == list(range(count))


def test_batches_run_at_the_same_time() -> None:
    # Each of two batches waits for the other: one after the other, they would never get past the barrier.
    barrier = threading.Barrier(2, timeout=20)
    run_side_by_side([[0], [1]], lambda _: void(barrier.wait()), threads=2)
    assert not barrier.broken


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_the_first_failure_is_raised_and_ends_the_rest(threads: int, kind: type[BaseException]) -> None:
    started: list[int] = []

    def run(batch: list[int]) -> None:
        started.append(batch[0])
        if batch[0] == 1:
            raise kind("batch 1")

    with pytest.raises(kind, match="batch 1"):
        run_side_by_side([[i] for i in range(5_000)], run, threads=threads)
    assert len(started) < 5_000
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("bearsearch-embed")]


def void(_: object) -> None:
    """Turns an expression into a statement."""
