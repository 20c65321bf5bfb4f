"""Programming problems of our own: what is asked, a program that answers it, and the inputs it is tested with."""
