"""The JP tool protocol: a result is one text, a JSON object that says `success` or `error`.

An error is a successful result of the Model Context Protocol too; `transient` tells whether to try again later.
"""

import json

from mcp_types import CallToolResult, TextContent

from bearsearch.errors import IndexBusyError, SourceBusyError

__all__ = ["failure", "success"]

TRANSIENT = (IndexBusyError, SourceBusyError)
"""What goes away by itself."""


def success(result: CallToolResult) -> CallToolResult:
    """The text of a result as a `success`; its structure is left out."""
    text = "".join(part.text for part in result.content if isinstance(part, TextContent))
    return _as_text({"type": "success", "content": text})


def failure(error: Exception) -> CallToolResult:
    """An `error` with the sentence that a model would have read, and no trace."""
    transient = isinstance(error.__cause__, TRANSIENT)
    return _as_text({"type": "error", "message": str(error), "trace": [], "transient": transient})


def _as_text(outcome: dict[str, object]) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=json.dumps(outcome, ensure_ascii=False))])
