"""Files of untrusted programs: `tree` writes and reads small trees, `cleanup` measures and removes what a run left
behind, and `unlinked` measures files without a name."""
