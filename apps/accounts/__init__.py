"""People: those with an account, and visitors without one. Begin with `operations`; `visitors` tells them apart."""
