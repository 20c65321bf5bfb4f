"""The app's hooks into other apps."""

from django.apps import AppConfig


class EpisodesConfig(AppConfig):
    """Registers what happens to a visitor's episodes at login, and that episodes can be reported."""

    name = "apps.episodes"

    def ready(self) -> None:
        """Move the seats of a visitor to the account when they log in; register the kind of content."""
        from apps.accounts.visitors import when_joining  # noqa: PLC0415 (models are not ready before)
        from apps.episodes.models import Episode  # noqa: PLC0415
        from apps.episodes.operations import adopt  # noqa: PLC0415
        from apps.moderation import kinds  # noqa: PLC0415

        when_joining(adopt)
        kinds.register(
            kinds.ModeratedKind(
                "episode",
                Episode.objects.all,
                key="pk",
                parameters={"episode_id": "pk", "first_id": "pk", "second_id": "pk"},
            )
        )
