"""What playing the episodes of a job needs: the lease, the feed of shards, threads, and processor time."""
