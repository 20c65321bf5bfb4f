"""Static files in the production image: their names contain a hash of their content."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Rewrites the file names in ES module imports, and in `url()` of stylesheets."""

    support_js_module_import_aggregation = True
