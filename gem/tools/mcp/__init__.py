"""The Model Context Protocol: `config` reads which servers there are, `servers` connects to them and calls their tools,
and `listings` caches what they offer.

`gem.tools.mcp_tool` is the tool that agents use; begin there.
"""
