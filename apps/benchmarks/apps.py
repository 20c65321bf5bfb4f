"""Benchmarks of people, which the engine finds by their names."""

from django.apps import AppConfig


class BenchmarksConfig(AppConfig):
    """Registers where benchmarks of people are found, how many one person may have, and that they can be reported."""

    name = "apps.benchmarks"

    def ready(self) -> None:
        """Register the source, the quota, the part of an account, and benchmarks as content."""
        from apps.accounts import personal_data, quotas  # noqa: PLC0415 (models are not ready before)
        from apps.benchmarks import limits, sources  # noqa: PLC0415
        from apps.benchmarks.models import OwnBenchmark  # noqa: PLC0415
        from apps.benchmarks.personal_data import PART  # noqa: PLC0415
        from apps.moderation import kinds  # noqa: PLC0415
        from gem import benchmarks  # noqa: PLC0415

        benchmarks.add_source(sources.find)
        personal_data.register(PART)
        quotas.register(limits.QUOTA)
        kinds.register(
            kinds.ModeratedKind(
                "benchmark",
                OwnBenchmark.objects.all,
                key="pk",
                parameters={"name": "name"},
                spaces=frozenset({"benchmarks"}),
            )
        )
