"""A client for the tools of sabir-everything. Made by `sabir generate --lang python`; it has no dependencies.

async with ClientSession(reader, writer) as session:  # of the package mcp
    await session.initialize()
    tools = SabirEverything(session)
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Literal, NotRequired, Protocol, TypeAlias, TypedDict, cast

__all__ = [
    "SabirEverything",
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


class DivideResult(TypedDict):
    """DivideResult"""

    quotient: float


JsonSchema202012ToolContactMethod: TypeAlias = Literal["phone", "email"]


class SabirEverything:
    """Calls the tools of sabir-everything."""

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

    async def test_simple_text(self) -> Any:
        """Returns a text"""
        return await self._call("test_simple_text", {})

    async def test_image_content(self) -> Any:
        """Returns an image"""
        return await self._call("test_image_content", {})

    async def test_audio_content(self) -> Any:
        """Returns a sound"""
        return await self._call("test_audio_content", {})

    async def test_embedded_resource(self) -> Any:
        """Returns a resource"""
        return await self._call("test_embedded_resource", {})

    async def test_multiple_content_types(self) -> Any:
        """Returns a text, an image and a resource"""
        return await self._call("test_multiple_content_types", {})

    async def wait(self) -> Any:
        """Says that it waits, and never ends unless it is cancelled"""
        return await self._call("wait", {})

    async def cancelled(self) -> Any:
        """How many waits were cancelled"""
        return await self._call("cancelled", {})

    async def test_trigger_tool_change(self) -> Any:
        """Changes the list of tools"""
        return await self._call("test_trigger_tool_change", {})

    async def test_trigger_prompt_change(self) -> Any:
        """Changes the list of prompts"""
        return await self._call("test_trigger_prompt_change", {})

    async def touch(self, uri: str) -> Any:
        """Tells those who have subscribed that a resource has changed"""
        _params = {"uri": uri}
        return await self._call("touch", _params)

    async def add(self, a: int, b: int) -> Any:
        """The sum of two integers"""
        _params = {"a": a, "b": b}
        return await self._call("add", _params)

    async def count(self, steps: int) -> Any:
        """Counts, and reports its progress"""
        _params = {"steps": steps}
        return await self._call("count", _params)

    async def divide(self, dividend: float, divisor: float) -> DivideResult:
        """One number by another, as a number for programs"""
        _params = {"dividend": dividend, "divisor": divisor}
        return cast("DivideResult", await self._structured("divide", _params))

    async def test_error_handling(self) -> Any:
        """Always fails"""
        return await self._call("test_error_handling", {})

    async def test_tool_with_progress(self) -> Any:
        """Reports its progress"""
        return await self._call("test_tool_with_progress", {})

    async def test_tool_with_logging(self) -> Any:
        """Sends log messages"""
        return await self._call("test_tool_with_logging", {})

    async def test_logging_tool(self) -> Any:
        """Sends a log message"""
        return await self._call("test_logging_tool", {})

    async def test_missing_capability(self) -> Any:
        """Needs a client that samples"""
        return await self._call("test_missing_capability", {})

    async def test_streaming_elicitation(self) -> Any:
        """Reports, then asks the user"""
        return await self._call("test_streaming_elicitation", {})

    async def json_schema_2020_12_tool(
        self,
        *,
        name: str | None = None,
        address: Any = None,
        contact_method: JsonSchema202012ToolContactMethod | None = None,
        phone: str | None = None,
        email: str | None = None,
    ) -> Any:
        """Has a schema with the words of JSON Schema 2020-12"""
        _params = {
            "name": name,
            "address": address,
            "contactMethod": contact_method,
            "phone": phone,
            "email": email,
        }
        return await self._call("json_schema_2020_12_tool", _given(_params))

    async def test_header(self, region: str) -> Any:
        """Returns an argument that travels in a header too"""
        _params = {"region": region}
        return await self._call("test_header", _params)

    async def test_reconnection(self) -> Any:
        """Has the client come back for its answer"""
        return await self._call("test_reconnection", {})

    async def test_input_required_result_elicitation(self) -> Any:
        """Asks the client first"""
        return await self._call("test_input_required_result_elicitation", {})

    async def test_input_required_result_sampling(self) -> Any:
        """Asks the client first"""
        return await self._call("test_input_required_result_sampling", {})

    async def test_input_required_result_list_roots(self) -> Any:
        """Asks the client first"""
        return await self._call("test_input_required_result_list_roots", {})

    async def test_input_required_result_request_state(self) -> Any:
        """Asks the client first"""
        return await self._call("test_input_required_result_request_state", {})

    async def test_input_required_result_tampered_state(self) -> Any:
        """Asks the client first"""
        return await self._call("test_input_required_result_tampered_state", {})

    async def test_input_required_result_multiple_inputs(self) -> Any:
        """Asks the client first"""
        return await self._call("test_input_required_result_multiple_inputs", {})

    async def test_input_required_result_multi_round(self) -> Any:
        """Asks the client first"""
        return await self._call("test_input_required_result_multi_round", {})

    async def test_input_required_result_capabilities(self) -> Any:
        """Asks the client first"""
        return await self._call("test_input_required_result_capabilities", {})

    async def test_sampling(self, prompt: str) -> Any:
        """Asks the client's model"""
        _params = {"prompt": prompt}
        return await self._call("test_sampling", _params)

    async def test_elicitation(self, message: str) -> Any:
        """Asks the client's user"""
        _params = {"message": message}
        return await self._call("test_elicitation", _params)

    async def test_elicitation_sep1034_defaults(self) -> Any:
        """Asks with defaults"""
        return await self._call("test_elicitation_sep1034_defaults", {})

    async def test_elicitation_sep1330_enums(self) -> Any:
        """Asks for choices"""
        return await self._call("test_elicitation_sep1330_enums", {})

    async def roots(self) -> Any:
        """The names of the client's folders"""
        return await self._call("roots", {})

    async def greet(self, name: str) -> Any:
        """Greets somebody by name"""
        _params = {"name": name}
        return await self._call("greet", _params)

    async def slow_compute(self, seconds: float, *, label: str | None = None) -> Any:
        """Computes for a while"""
        _params = {"seconds": seconds}
        _optional = {"label": label}
        _params.update(_given(_optional))
        return await self._call("slow_compute", _params)

    async def failing_job(self) -> Any:
        """Fails after a second, as a task"""
        return await self._call("failing_job", {})

    async def protocol_error_job(self) -> Any:
        """Ends with a JSON-RPC error"""
        return await self._call("protocol_error_job", {})

    async def confirm_delete(self, filename: str) -> Any:
        """Deletes nothing, but asks whether it may"""
        _params = {"filename": filename}
        return await self._call("confirm_delete", _params)

    async def multi_input(self) -> Any:
        """Asks for two things at once"""
        return await self._call("multi_input", {})

    async def test_tool_with_task(self) -> Any:
        """Asks for a name, then works"""
        return await self._call("test_tool_with_task", {})
