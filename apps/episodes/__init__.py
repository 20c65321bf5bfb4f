"""Episodes and their turns, the record on which everything else is based. Begin with `models` and `operations`."""
