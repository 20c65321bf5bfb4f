"""Entries of an ASGI scope by which the server's protocol and a stream of events find each other."""

ABORT = "gemweb.abort"
"""The function that closes the connection without waiting for the client to take what was sent."""
END = "gemweb.end"
"""The function that ends the stream, because the process stops."""
