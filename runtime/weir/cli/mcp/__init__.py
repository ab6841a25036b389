"""``weir mcp``: a Model Context Protocol server. Its tools use the same API client as the other commands."""
