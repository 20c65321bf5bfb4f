"""Search over passages: `index` makes and reads an index, `server` asks a search server.

`gem.tools.search_tool` is the tool that agents use.
"""
