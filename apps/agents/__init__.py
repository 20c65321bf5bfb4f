"""Whatever acts in a seat: built-in agents, endpoints, policies. Begin with `models`; `players` makes one act."""
