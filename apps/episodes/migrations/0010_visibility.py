"""Episodes, and the batches of jobs and duels, are public, unlisted or private.

Episodes that were not listed become unlisted; of a duel, the duel does. Everything else stays open to everybody.
"""

from django.db import migrations, models
from django.db.models import Exists, OuterRef

CHOICES = [("public", "public"), ("unlisted", "unlisted"), ("private", "private")]


def unlist(apps, schema_editor):
    """Write what `listed` said into the new columns."""
    episode_model, batch_model = apps.get_model("episodes", "Episode"), apps.get_model("episodes", "Batch")
    unlisted = episode_model.objects.filter(listed=False)
    batch_model.objects.filter(Exists(unlisted.filter(batch=OuterRef("pk"))), kind="duel").update(visibility="unlisted")
    unlisted.exclude(batch__kind="duel").update(visibility="unlisted")


def list_again(apps, schema_editor):
    """The reverse. What is private becomes unlisted, as far as there is no such state."""
    episode_model = apps.get_model("episodes", "Episode")
    episode_model.objects.exclude(visibility="public").update(listed=False)
    episode_model.objects.filter(batch__in=apps.get_model("episodes", "Batch").objects.exclude(visibility="public")).update(
        listed=False
    )


class Migration(migrations.Migration):
    dependencies = [("episodes", "0009_pending_turns_wait_in_line")]

    operations = [
        *(
            migrations.AddField(
                model,
                "visibility",
                models.CharField(choices=CHOICES, db_default="public", default="public", max_length=8),
            )
            for model in ("batch", "episode")
        ),
        migrations.RunPython(unlist, list_again),
        migrations.RemoveIndex("episode", "episodes_by_time"),
        migrations.RemoveIndex("episode", "episodes_not_of_jobs"),
        migrations.RemoveField("episode", "listed"),
        migrations.AddIndex(
            "episode",
            models.Index(
                fields=["-created", "id"], include=["of_job", "visibility", "batch"], name="episodes_by_time"
            ),
        ),
        migrations.AddIndex(
            "episode",
            models.Index(
                fields=["-created", "id"],
                include=["visibility", "of_job", "batch"],
                condition=models.Q(of_job=False),
                name="episodes_not_of_jobs",
            ),
        ),
    ]
