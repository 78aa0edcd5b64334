"""Tools: functions that clients call, whose output is there while they work: plain, with partials, as tasks."""

from streamres.protocol.blocks import Audio, Embedded, Image, Link, Text
from streamres.tools.asking import Elicit, Roots, Sample
from streamres.tools.context import Context
from streamres.tools.result import ToolResult
from streamres.tools.tool import Tool, tool_of
from streamres.tools.toolbox import Toolbox

__all__ = [
    "Audio",
    "Context",
    "Elicit",
    "Embedded",
    "Image",
    "Link",
    "Roots",
    "Sample",
    "Text",
    "Tool",
    "ToolResult",
    "Toolbox",
    "tool_of",
]
