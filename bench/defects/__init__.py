"""The defects of GEM's environments, and which of them `gemweb check` finds. Begin reading in `defects`."""
