"""The one record that everything else is made of: episodes and their turns. Begin with `models` and `operations`."""
