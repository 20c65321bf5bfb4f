"""Ranked jobs on hidden seeds: what their page says, and how often somebody has tried. Begin reading in `pages`."""
