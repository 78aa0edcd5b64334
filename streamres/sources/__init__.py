"""What writes to resources: a command, an upload."""
