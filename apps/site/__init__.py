"""What belongs to no other app: the home page, search, the documents, health and error pages. Begin with `views`."""
