"""The app of the MCP server."""

from django.apps import AppConfig


class McpConfig(AppConfig):
    """Has no pages: `gemweb.asgi` mounts its address beside Django."""

    name = "apps.mcp"
    label = "mcp"
