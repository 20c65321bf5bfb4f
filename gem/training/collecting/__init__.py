"""The episodes of an update: `collector` plays them, `batch` holds them."""
