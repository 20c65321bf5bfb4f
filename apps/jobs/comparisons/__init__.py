"""The page that compares two to six evaluations on the seeds that they share; it begins in `views`."""
