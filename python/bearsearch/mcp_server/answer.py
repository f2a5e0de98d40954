"""What every tool does with its result: make it visible, make it fit, and give it as structure beside a text."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any, TypeVar

from mcp_types import CallToolResult, TextContent

from bearsearch.dates import parse_date
from bearsearch.errors import UsageError
from bearsearch.mcp_server.budget import MAXIMUM_TOKENS, size_of
from bearsearch.render.visible import for_model

__all__ = ["Rendered", "budget_of", "day", "fitted", "fitting", "reply", "visible"]

T = TypeVar("T")

Rendered = tuple[str, dict[str, Any]]
"""Text and structured content."""


def reply(text: str, document: dict[str, Any]) -> CallToolResult:
    """A tool's result: the text for programs that show text, the document for those that read structure."""
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=document)


def fitted(items: Sequence[T], budget: int, render: Callable[[Sequence[T]], Rendered]) -> CallToolResult:
    """The longest beginning of `items` whose reply fits; see `fitting`."""
    return reply(*render(items[: fitting(items, budget, render)]))


def fitting(items: Sequence[T], budget: int, render: Callable[[Sequence[T]], Rendered]) -> int:
    """How many of `items`, from the first on, make a reply that fits into `budget` tokens; at least one.

    Args:
        items: What the reply lists, most wanted first.
        budget: Tokens for text and structure together: they say the same, and a program may show a model both.
        render: Makes text and document from a beginning of `items`.
    """
    low, high = min(1, len(items)), len(items)
    if low == high or size_of(*render(items)) <= budget:
        return high
    while low < high - 1:
        middle = (low + high) // 2
        if size_of(*render(items[:middle])) <= budget:
            low = middle
        else:
            high = middle
    return low


def visible(value: Any) -> Any:
    """The document with every invisible character of its strings written as a code point."""
    if isinstance(value, str):
        return for_model(value)
    if isinstance(value, list):
        return [visible(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {key: visible(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


def day(text: str) -> date | datetime | None:
    """A date argument; an empty one is none.

    Raises:
        UsageError: It is no date.
    """
    return parse_date(text) if text.strip() else None


def budget_of(max_tokens: int) -> int:
    """The argument `max_tokens`, held below what programs accept.

    Raises:
        UsageError: It is below 1.
    """
    if max_tokens < 1:
        raise UsageError(f"max_tokens is at least 1, but {max_tokens} came")
    return min(max_tokens, MAXIMUM_TOKENS)
