"""The suite's plain tools: one for each kind of content, of failure and of notice."""

from __future__ import annotations

from base64 import b64decode
from typing import Annotated, Any, Final

from pydantic import Field

from streamres import Server
from streamres.errors import ToolError
from streamres.tools import Audio, Context, Elicit, Embedded, Image, Sample, Text

# One red pixel.
PNG: Final = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
)
# The head of a sound without a sample.
WAV: Final = b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=")

EMBEDDED: Final = Embedded("test://embedded-resource", "text/plain", "Text that came along.")

ADDRESS: Final = {
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
    "$schema": "https://json-schema.org/draft/2020-12/schema",
}
"""A schema of keywords that nothing may be lost of."""


def offer_contents(server: Server) -> None:
    """Offers a tool for each kind of content. The first of all needs no argument: the suite calls it so."""

    @server.tool()
    async def test_simple_text() -> str:
        """Gives a text."""
        return "A simple text."

    @server.tool()
    async def test_image_content() -> Image:
        """Gives an image."""
        return Image(PNG, "image/png")

    @server.tool()
    async def test_audio_content() -> Audio:
        """Gives a sound."""
        return Audio(WAV, "audio/wav")

    @server.tool()
    async def test_embedded_resource() -> Embedded:
        """Gives the contents of a resource."""
        return EMBEDDED

    @server.tool()
    async def test_multiple_content_types() -> list[Any]:
        """Gives a text, an image and the contents of a resource."""
        return [Text("Several kinds of content."), Image(PNG, "image/png"), EMBEDDED]

    @server.tool()
    async def test_error_handling() -> str:
        """Fails."""
        raise ToolError("This tool always fails.")


def offer_notices(server: Server) -> None:
    """Offers the tools of which more is heard than a result, or less."""

    @server.tool()
    async def test_tool_with_progress(context: Context) -> str:
        """Tells how far it is."""
        for value in (0, 50, 100):
            await context.progress(value, 100, f"{value} of 100")
        return "All is done."

    @server.tool()
    async def test_logging_tool() -> str:
        """Says nothing but its result."""
        return "Nothing was logged."

    @server.tool()
    async def test_streaming_elicitation(context: Context) -> str:
        """Asks the user for a name, by its result and not by a request of its own."""
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        asked = Elicit(message="What is your name?", schema=schema)
        return f"The user said: {(await context.ask('user_name', asked))['action']}"

    @server.tool()
    async def test_missing_capability(context: Context) -> str:
        """Needs a client with a model."""
        said = await context.ask("greeting", Sample(prompt="Say hello.", max_tokens=20))
        return f"The model is {said['model']}."

    @server.tool()
    async def test_trigger_tool_change() -> str:
        """Offers another tool, and takes it back."""
        server.tool(name="test_comes_and_goes")(_nothing)
        server.remove_tool("test_comes_and_goes")
        return "The list of tools has changed."


def offer_schemas(server: Server) -> None:
    """Offers the tools whose schemas say more than types."""

    @server.tool(input_schema=ADDRESS)
    async def json_schema_2020_12_tool(context: Context, arguments: dict[str, Any]) -> str:
        """Takes an address."""
        return f"The address of {arguments.get('name', 'somebody')}."

    @server.tool()
    async def test_x_mcp_header(
        region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "nowhere",
    ) -> str:
        """Takes a region, which a header repeats."""
        return f"The region is {region}."


async def _nothing() -> None:
    """Gives nothing."""
