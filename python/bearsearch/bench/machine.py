"""What machine the numbers come from, in one line."""

from __future__ import annotations

import os
import platform
from pathlib import Path

__all__ = ["describe"]


def describe() -> str:
    """Return processor, cores, memory, system and the load of the last minute, as far as they are known."""
    parts = [_processor(), f"{os.cpu_count()} cores", platform.system(), f"Python {platform.python_version()}"]
    memory = _memory_bytes()
    if memory:
        parts.insert(2, f"{memory / 2**30:.0f} GB")
    if hasattr(os, "getloadavg"):
        parts.append(f"load {os.getloadavg()[0]:.1f}")
    return ", ".join(parts)


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0
