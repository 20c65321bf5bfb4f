"""The client of a gemweb site: what a program can do there over the network. Begin reading in `schemas`."""
