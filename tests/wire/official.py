"""Which official type of MCP 2026-07-28 each message is of."""

from __future__ import annotations

from functools import cache

from mcp_types import _v2026_07_28 as official
from pydantic import BaseModel

RESULTS = {
    "server/discover": "DiscoverResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "subscriptions/listen": "SubscriptionsListenResult",
}
PARAMS = {
    "server/discover": "RequestParams",
    "resources/list": "PaginatedRequestParams",
    "resources/templates/list": "PaginatedRequestParams",
    "resources/read": "ReadResourceRequestParams",
    "subscriptions/listen": "SubscriptionsListenRequestParams",
}
NOTIFICATIONS = {
    "notifications/resources/updated": "ResourceUpdatedNotificationParams",
    "notifications/resources/list_changed": "NotificationParams",
    "notifications/tools/list_changed": "NotificationParams",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotificationParams",
}
ERRORS = {
    -32700: "ParseError",
    -32600: "InvalidRequestError",
    -32601: "MethodNotFoundError",
    -32602: "InvalidParamsError",
    -32603: "InternalError",
}
LEGACY_ERRORS = {-32001}
"""Said to clients of the older era alone: the session is over."""

ERROR_RESPONSES = {
    -32020: "HeaderMismatchError",
    -32021: "MissingRequiredClientCapabilityError",
    -32022: "UnsupportedProtocolVersionError",
}
"""Errors that the specification types with the response around them."""


def model(name: str) -> type[BaseModel]:
    """The official model of a type."""
    found: type[BaseModel] = getattr(official, name)
    return found


@cache
def official_names(name: str) -> frozenset[str]:
    """The members of an official type."""
    return frozenset(field.alias or key for key, field in model(name).model_fields.items())
