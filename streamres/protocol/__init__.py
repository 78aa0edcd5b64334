"""The words of MCP: JSON-RPC, `_meta`, headers, bindings, errors and messages. Pure."""
