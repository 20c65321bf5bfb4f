"""One module for each library that is measured; each runs in a process of its own (see `bench.engine.worker`)."""
