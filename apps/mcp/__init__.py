"""The site as a server of the Model Context Protocol, at `/mcp`: agents that use tools play, submit jobs, read boards.

`application` is mounted beside Django and checks who asks. `server` speaks the protocol with the `mcp` package, and
`playing` and `reading` are the tools: each sends requests to the API of this process with the caller's token, so its
permissions, limits and sentences hold. Nothing is kept between two messages; begin reading in `playing`.
"""
