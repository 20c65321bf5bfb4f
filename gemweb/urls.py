"""The URL prefixes of all apps."""

from django.urls import include, path

from apps.api.root import api
from apps.leaderboard.proofs.views import well_known
from gem.verification.keys import WELL_KNOWN

urlpatterns = [
    path("", include("apps.api.urls")),
    path("", include("apps.doors.urls")),
    path("", include("apps.site.urls")),
    path("account/", include("apps.accounts.urls")),
    path("account/webhooks/", include("apps.webhooks.urls")),
    path("reports/", include("apps.moderation.urls")),
    path("agents/", include("apps.connect.urls")),
    path("agents/", include("apps.agents.urls")),
    path("environments/", include("apps.learnability.urls")),
    path("environments/", include("apps.catalog.urls")),
    path("episodes/", include("apps.lens.urls")),
    path("episodes/", include("apps.play.tree.urls")),
    path("episodes/", include("apps.episodes.urls")),
    path("play/", include("apps.duels.urls")),
    path("play/", include("apps.play.urls")),
    path("curves/", include("apps.curves.urls")),
    path("studies/", include("apps.studies.urls")),
    path("reported/", include("apps.reported.urls")),
    path("jobs/", include("apps.trainings.urls")),
    path("jobs/", include("apps.jobs.urls")),
    path("compare/", include("apps.jobs.comparisons.urls")),
    path("benchmarks/", include("apps.benchmarks.urls")),
    path("leaderboard/", include("apps.standings.urls")),
    path("leaderboard/", include("apps.leaderboard.urls")),
    path("daily/", include("apps.daily.urls")),
    path("api/v1/", api.urls),
    path(WELL_KNOWN.removeprefix("/"), well_known, name="well_known"),
]

handler400 = "apps.site.views.bad_request"
handler403 = "apps.site.views.permission_denied"
handler404 = "apps.site.views.page_not_found"
handler500 = "apps.site.views.server_error"
