"""Streamable resources on servers that are built with other libraries. Each needs the extra of its name."""
