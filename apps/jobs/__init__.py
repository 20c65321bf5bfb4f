"""Jobs: requests to evaluate or to train, in shards that workers claim. Begin with `operations` and `leases`."""
