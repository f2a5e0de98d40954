"""The ways of searching that are measured beside each other."""

from __future__ import annotations

from dataclasses import dataclass

from bearsearch.errors import UsageError

__all__ = ["SYSTEMS", "System", "chosen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One way of searching, by the name that reports give it."""

    name: str
    mode: str
    """Mode of the search."""
    fusion: str = "share"
    rerank: bool = False

    @property
    def needs_model(self) -> bool:
        """Whether it cannot run without an embedding model."""
        return self.mode != "fts"


SYSTEMS = {
    system.name: system
    for system in (
        System(name="text", mode="fts"),
        System(name="vector", mode="vector"),
        System(name="hybrid", mode="hybrid"),
        System(name="rrf", mode="hybrid", fusion="rrf"),
        System(name="rerank", mode="hybrid", rerank=True),
    )
}


def chosen(names: tuple[str, ...]) -> list[System]:
    """The systems with these names in their order; all but `rerank`, which needs weights of its own, for none.

    Raises:
        UsageError: There is no such system.
    """
    if not names:
        return [system for system in SYSTEMS.values() if not system.rerank]
    unknown = next((name for name in names if name not in SYSTEMS), None)
    if unknown is not None:
        raise UsageError(f"there is no system {unknown!r}; they are: {', '.join(SYSTEMS)}")
    return [SYSTEMS[name] for name in dict.fromkeys(names)]
