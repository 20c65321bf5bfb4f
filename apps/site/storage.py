"""How a production image names static files: with a hash of their content, also where scripts import each other."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Rewrites `import ... from "./x.js"` in ES modules beside `url()` in stylesheets."""

    support_js_module_import_aggregation = True
