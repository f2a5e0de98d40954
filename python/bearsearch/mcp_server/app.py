"""The server object: its tools, resources, prompts and completions, and how errors reach the model.

What a model can mend arrives as a tool error that it can read, in one sentence: an unknown tool or argument with the
nearest name, a bad value, whatever `bearsearch.errors` says. A fault of ours arrives as a plain "failed", and where
it happened goes to the log.
"""

import inspect
import time
from typing import Any

import anyio.to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.prompts import Prompt
from mcp_types import (
    CallToolResult,
    Completion,
    CompletionArgument,
    CompletionContext,
    InputRequiredResult,
    PromptReference,
    Resource,
    ResourceTemplate,
    ResourceTemplateReference,
    Tool,
)
from pydantic import ValidationError

from bearsearch import __version__
from bearsearch.errors import BearsearchError
from bearsearch.mcp_server import jp
from bearsearch.mcp_server.arguments import ArgumentsError, nearest, normalized
from bearsearch.mcp_server.completions import Completions
from bearsearch.mcp_server.instructions import live_instructions
from bearsearch.mcp_server.library import Library
from bearsearch.mcp_server.log import LOG
from bearsearch.mcp_server.prompts import PROMPTS
from bearsearch.mcp_server.resources import BEAR_TEMPLATE, MARKDOWN, NOTE_TEMPLATE, Resources
from bearsearch.mcp_server.tools import tools

__all__ = ["NotesServer", "build"]


class NotesServer(MCPServer[Any]):
    """An MCP server whose tools take forgiving arguments and answer errors in sentences.

    The SDK drops unknown arguments silently and echoes values in its own errors; `call_tool`, through which every
    call of either protocol era passes, does both our way.

    Args:
        library: What it serves.
        jp_protocol: Results and errors as JSON in text, as the JP program expects them.
        named: What the SDK's server takes.
    """

    def __init__(self, library: Library, *, jp_protocol: bool = False, **named: Any) -> None:
        super().__init__("bearsearch", **named)
        self._library = library
        self._jp = jp_protocol
        self._resources = Resources(library)

    async def list_tools(self) -> list[Tool]:
        """All tools; in the JP protocol without output schemas, because there the text is the whole result."""
        found = await super().list_tools()
        return [tool.model_copy(update={"output_schema": None}) for tool in found] if self._jp else found

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Run a tool by name.

        Raises:
            ToolError: In a sentence, what the caller can mend.
            UnexpectedToolError: A fault of ours.
        """
        started = time.perf_counter()
        outcome = "failed"
        try:
            result = await self._call(name, arguments, context)
            outcome = "done"
            return jp.success(result) if self._jp and isinstance(result, CallToolResult) else result
        except ToolError as error:
            outcome = type(error.__cause__ or error).__name__
            if self._jp:
                return jp.failure(error)
            raise
        finally:
            elapsed_ms = (time.perf_counter() - started) * 1000
            LOG.info("%s %s in %.0f ms", name if self._tool_manager.get_tool(name) else "tool?", outcome, elapsed_ms)

    async def _call(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None
    ) -> CallToolResult | InputRequiredResult:
        schemas = {tool.name: tool.input_schema for tool in await self.list_tools()}
        if name not in schemas:
            raise ToolError(f"There is no tool {name[:60]!r}{nearest(name, schemas)} Tools: {', '.join(schemas)}.")
        try:
            return await super().call_tool(name, normalized(name, schemas[name], arguments), context)
        except ArgumentsError as error:
            raise ToolError(str(error)) from error
        except UnexpectedToolError as error:
            if isinstance(error.__cause__, BearsearchError):
                raise ToolError(str(error.__cause__)) from error.__cause__
            raise
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_what_is_wrong(name, error.__cause__)) from error.__cause__
            raise ToolError(str(error.__cause__ or error)) from error.__cause__

    async def list_resources(self) -> list[Resource]:
        """The newest notes."""
        return await anyio.to_thread.run_sync(_or_nothing, self._resources.listed)

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """The template of all notes by id, and one for each source."""
        by_id = [one for one in await super().list_resource_templates() if one.uri_template == BEAR_TEMPLATE]
        return by_id + await anyio.to_thread.run_sync(_or_nothing, self._resources.templates)


def _or_nothing(listed: Any) -> list[Any]:
    """A list of resources is an offer: when the notes cannot be read now it is empty, and tools say why."""
    try:
        return listed()
    except BearsearchError:
        return []


def _what_is_wrong(tool: str, error: ValidationError) -> str:
    """Pydantic's complaints without the values, which may be note text, and without its links."""
    complaints = error.errors(include_url=False, include_input=False, include_context=False)
    return f"{tool}: " + "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in complaints) + "."


def build(library: Library, *, note_create: bool = False, jp_protocol: bool = False) -> NotesServer:
    """The server over a library of notes.

    Args:
        library: Opened now, for the instructions; if that fails, the instructions say why and tools try again.
        note_create: Also register the tool that writes.
        jp_protocol: Results and errors as JSON in text, as the JP program expects them.
    """
    app = NotesServer(
        library,
        jp_protocol=jp_protocol,
        title="Notes (bearsearch)",
        description="Searches the user's Bear notes and Markdown folders on this machine.",
        instructions=live_instructions(library, note_create=note_create),
        version=__version__,
        # Below WARNING the SDK logs each failed call with its message.
        log_level="WARNING",
    )
    for tool in tools(library, note_create=note_create):
        app.add_tool(tool.function, title=tool.title, description=_manual(tool.function), annotations=tool.annotations)
    resources = Resources(library)
    for template, function, title in (
        (BEAR_TEMPLATE, resources.by_id, "A note"),
        (NOTE_TEMPLATE, resources.by_source, "A note of a source"),
    ):
        app.resource(template, name=title.lower(), title=title, description=_manual(function), mime_type=MARKDOWN)(
            function
        )
    for function, title in PROMPTS:
        app.add_prompt(Prompt.from_function(function, title=title, description=_manual(function)))
    _complete(app, Completions(library))
    return app


def _complete(app: NotesServer, completions: Completions) -> None:
    @app.completion()
    async def complete(  # pyright: ignore[reportUnusedFunction]
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion:
        given = (context.arguments or {}) if context is not None else {}
        source = given.get("source", "")
        if isinstance(ref, ResourceTemplateReference) and ref.uri.startswith("note://"):
            source = source or ref.uri.removeprefix("note://").partition("/")[0].removeprefix("{source}")
        try:
            return await anyio.to_thread.run_sync(lambda: completions.of(argument.name, argument.value, source=source))
        except BearsearchError:
            return Completion(values=[])


def _manual(function: Any) -> str:
    return inspect.getdoc(function) or ""
