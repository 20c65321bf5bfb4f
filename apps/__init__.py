"""The Django apps, one noun each; docs/map.md says which may import which."""
