"""Everything of one server that is reached over HTTP, by path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.routing import Route, Router

from streamres.observe import HEALTH_PATH, METRICS_PATH, Health, Metrics
from streamres.sources.upload import Upload
from streamres.transport import HttpEndpoint

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.observe import Numbers
    from streamres.server import Dispatcher
    from streamres.store import Store
    from streamres.transport import Guard

MCP_PATH = "/mcp"
UPLOAD_PATH = "/upload"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """What is served beside MCP."""

    upload: bool
    health: bool
    metrics: bool


def http_app(
    dispatcher: Dispatcher, store: Store, numbers: Numbers, limits: Limits, guard: Guard, paths: Paths
) -> Router:
    """Gives the app of one dispatcher, and what else is wanted; `numbers` counts what comes by it."""
    endpoint = HttpEndpoint(dispatcher, limits, guard)
    numbers.endpoints.append(endpoint)
    routes = [Route(MCP_PATH, endpoint)]
    if paths.upload:
        uploads = Upload(numbers.store, limits, guard)
        numbers.uploads.append(uploads.in_flight)
        routes.append(Route(UPLOAD_PATH, uploads, methods=["GET", "POST", "PUT"]))
    if paths.health:
        routes.append(Route(HEALTH_PATH, Health(store, numbers.version, guard), methods=["GET"]))
    if paths.metrics:
        routes.append(Route(METRICS_PATH, Metrics(numbers, guard), methods=["GET"]))
    # A bare router: the middleware of a Starlette app costs every message of every stream two calls.
    return Router(routes)
