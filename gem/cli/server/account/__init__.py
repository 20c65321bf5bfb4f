"""The commands about one's account on a server."""
