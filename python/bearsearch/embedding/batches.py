"""Order, size and concurrency of inference, apart from any model: pure planning, and threads that carry it out.

Padding is work thrown away, so texts of like length go together; and a batch holds few tokens, so that memory
stays flat however many texts there are. Batches run side by side, one thread each: measured on two cores this is
1.26 times as fast as one batch on two threads, and does not collapse when another process wants a core.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

__all__ = ["plan", "run_side_by_side"]

BATCH_TOKENS = 256
"""Most tokens in one batch, padding included; `benches/embedding_speed.py` compares sizes."""
BATCH_TEXTS = 8
"""Most texts in one batch."""


def plan(
    lengths: Sequence[int], *, batch_tokens: int = BATCH_TOKENS, batch_texts: int = BATCH_TEXTS
) -> list[list[int]]:
    """Groups texts of like length, longest first, so that the last batches to run are the short ones.

    Args:
        lengths: Tokens of each text.
        batch_tokens: Most tokens in a batch, counting each text as long as the batch's longest; a text that is
            longer stands alone.
        batch_texts: Most texts in a batch, at least 1.

    Returns:
        Positions in `lengths`, each exactly once, by batch.

    >>> plan([3, 200, 4, 100, 3], batch_tokens=250, batch_texts=2)
    [[1], [3, 2], [0, 4]]
    """
    order = sorted(range(len(lengths)), key=lambda position: -lengths[position])
    batches: list[list[int]] = []
    longest = 0
    for position in order:
        current = batches[-1] if batches else []
        if current and len(current) < batch_texts and longest * (len(current) + 1) <= batch_tokens:
            current.append(position)
        else:
            batches.append([position])
            longest = lengths[position]
    return batches


def run_side_by_side(batches: Sequence[list[int]], run: Callable[[list[int]], None], *, threads: int) -> None:
    """Calls `run` once for each batch, started in order on up to `threads` threads, and waits for all.

    The first exception, or an interrupt of the calling thread, keeps the others from starting another batch and is
    raised here. The calling thread works too, so one thread or one batch starts none.

    Args:
        batches: What to run.
        run: Must be safe to call from several threads at once.
        threads: At least 1.
    """
    waiting = iter(batches)
    turn = threading.Lock()
    stop = threading.Event()
    failures: list[BaseException] = []

    def work() -> None:
        while not stop.is_set():
            with turn:
                batch = next(waiting, None)
            if batch is None:
                return
            run(batch)

    def work_aside() -> None:
        try:
            work()
        except BaseException as failure:  # raised again below, in the calling thread
            failures.append(failure)
            stop.set()

    others = [
        threading.Thread(target=work_aside, name=f"bearsearch-embed-{number}", daemon=True)
        for number in range(1, min(threads, len(batches)))
    ]
    for thread in others:
        thread.start()
    try:
        work()
    finally:
        # Nothing is left to start, or an exception is on its way: the others end with their current batch.
        stop.set()
        for thread in others:
            thread.join()
    if failures:
        raise failures[0]
