"""The catalog of environments, from the registry and their documentation. Begin with `entries`."""
