"""The Model Context Protocol: `servers` starts and asks servers, `config` says which ones, `listings` what they offer.

`gem.tools.mcp_tool` is the tool that agents use.
"""
