"""The home page, search, the documents, and the health and error pages. Begin with `views`."""
