"""How a process confines itself: `kernel` makes system calls, and each other module removes one kind of access."""
