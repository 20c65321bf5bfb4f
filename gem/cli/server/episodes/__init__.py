"""Commands about episodes on a server: continue one, take a seat in one, and what its turns were worth."""
