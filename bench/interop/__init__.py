"""How fast programs of others play with us over their own protocols, beside their own servers in the same run."""
