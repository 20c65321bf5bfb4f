"""What a process gives up: `kernel` makes the system calls, the other modules each take one kind of right away."""
