"""What is asked about an episode and answered by a worker: its verification, and why it failed."""
