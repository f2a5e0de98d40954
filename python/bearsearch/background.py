"""The thread that keeps a long-lived process up to date: it syncs once, then embeds whatever waits, in small steps.

A query always goes first: the thread begins no step while one runs. It is started by `Index.start_background` and knows
of the index no more than two functions. What is embedded and stored is the service's business.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from bearsearch.errors import BearsearchError
from bearsearch.types import BackgroundStatus, EmbedReport

__all__ = ["BACKGROUND_THREAD", "Background"]

BACKGROUND_THREAD = "bearsearch-background"
"""Name of the thread."""

STEP_TEXTS = 8
"""Texts embedded in one step: a query that comes meanwhile shares the processor with it for at most that long."""

REST_S = 900.0
"""How long the thread sleeps before it looks again on its own; a query that finds changes wakes it."""

RATE_STEPS = 32
"""Steps that the rate is taken over."""


class Background:
    """One thread, its state, and the rule that queries go first.

    Args:
        sync: Brings the text index up to date; called once at the start and after each rest.
        embed: Embeds at most so many texts with one thread and says what it did.
        delay_s: Rest before the first work, so that a process that starts can answer first.
    """

    def __init__(
        self, *, sync: Callable[[], object], embed: Callable[[int], EmbedReport], delay_s: float = 0.0
    ) -> None:
        self._sync = sync
        self._embed = embed
        self._delay_s = delay_s
        self._state = threading.Condition()
        self._queries = 0
        self._woken = False
        self._stopped = False
        self._running = False
        self._last_error: str | None = None
        self._pending = 0
        self._steps: list[tuple[float, int]] = []
        self._thread = threading.Thread(target=self._work, name=BACKGROUND_THREAD, daemon=True)

    def start(self) -> None:
        """Begin. May be called once."""
        self._thread.start()

    def stop(self, *, wait_s: float = 2.0) -> None:
        """Begin no further step, and wait a little for the one that runs; what it stored stays stored."""
        with self._state:
            self._stopped = True
            self._state.notify_all()
        self._thread.join(wait_s)

    def wake(self) -> None:
        """Look for work now: something changed."""
        with self._state:
            self._woken = True
            self._state.notify_all()

    @contextmanager
    def query(self) -> Generator[None]:
        """While this is open no step begins."""
        with self._state:
            self._queries += 1
        try:
            yield
        finally:
            with self._state:
                self._queries -= 1
                self._state.notify_all()

    def status(self) -> BackgroundStatus:
        """What the thread does now and how long it will take."""
        with self._state:
            rate = self._rate()
            return BackgroundStatus(
                running=self._running,
                per_second=rate,
                eta_s=self._pending / rate if self._running and rate else None,
                last_error=self._last_error,
            )

    def _rate(self) -> float | None:
        if len(self._steps) < 2:
            return None
        elapsed = self._steps[-1][0] - self._steps[0][0]
        texts = sum(count for _, count in self._steps[1:])
        return texts / elapsed if elapsed > 0 else None

    def _may_go_on(self) -> bool:
        """Waits until no query runs; False when the thread is to end."""
        with self._state:
            self._state.wait_for(lambda: self._stopped or not self._queries)
            return not self._stopped

    def _rest(self, seconds: float) -> bool:
        """Waits for the next reason to work; False when the thread is to end."""
        with self._state:
            self._running = False
            self._steps.clear()
            self._state.wait_for(lambda: self._stopped or self._woken, timeout=seconds)
            self._woken = False
            return not self._stopped

    def _work(self) -> None:
        if not self._rest(self._delay_s):
            return
        while self._may_go_on():
            error: str | None = None
            try:
                self._sync()
                error = self._embed_all()
            except BearsearchError as problem:
                error = str(problem)
            except Exception as problem:
                # Whatever it is, the server must go on answering; status shows it.
                error = f"{type(problem).__name__}: {problem}"
            with self._state:
                self._last_error = error
            if not self._rest(REST_S):
                return

    def _embed_all(self) -> str | None:
        """Steps until nothing waits; the reason when nothing can be embedded."""
        while self._may_go_on():
            report = self._embed(STEP_TEXTS)
            with self._state:
                self._pending = report.pending
                self._running = report.pending > 0 and report.reason is None
                self._steps = [*self._steps[-RATE_STEPS:], (time.monotonic(), report.embedded + report.failed)]
            if report.reason is not None or not report.pending or not (report.embedded or report.failed):
                return report.reason
        return None
