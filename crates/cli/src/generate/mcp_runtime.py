"""A client for the tools of __TITLE__. Made by `sabir generate --lang python`; it has no dependencies.

async with ClientSession(reader, writer) as session:  # of the package mcp
    await session.initialize()
    tools = __NAME__(session)
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Literal, NotRequired, Protocol, TypeAlias, TypedDict, cast

__all__ = [
    "__NAME__",
    "Literal",
    "NotRequired",
    "ToolCaller",
    "ToolError",
    "TypeAlias",
    "TypedDict",
]


class ToolCaller(Protocol):
    """What calls a tool: a session of an MCP library."""

    def call_tool(
        self, name: str, arguments: dict[str, Any] | None = None
    ) -> Awaitable[Any]: ...


class ToolError(Exception):
    """A tool has failed, or its result is not what it declares."""

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result


def _given(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _member(result: Any, *names: str) -> Any:
    return next(
        (getattr(result, name) for name in names if hasattr(result, name)), None
    )


# __TYPES__


class __NAME__:
    """Calls the tools of __TITLE__."""

    def __init__(self, caller: ToolCaller) -> None:
        self._caller = caller

    async def _call(self, name: str, params: dict[str, Any]) -> Any:
        return await self._caller.call_tool(name, params)

    async def _structured(self, name: str, params: dict[str, Any]) -> Any:
        result = await self._call(name, params)
        if _member(result, "is_error", "isError"):
            raise ToolError(f"{name} failed", result)
        value = _member(result, "structured_content", "structuredContent")
        if value is None:
            raise ToolError(f"{name} has no structured result", result)
        return value
