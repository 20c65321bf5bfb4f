"""Groups of arguments: endpoint agents, trained policies, and tools."""
