"""Many finished episodes at once, by COPY."""
