"""Trainings that an alarm stopped are stopped too, so the state names no budget."""

from django.db import migrations, models


STATES = models.CharField(
    choices=[
        ("queued", "Queued"),
        ("running", "Running"),
        ("paused", "Paused"),
        ("done", "Done"),
        ("stopped", "Stopped"),
        ("cancelled", "Cancelled"),
        ("failed", "Failed"),
    ],
    default="queued",
    max_length=12,
)


class Migration(migrations.Migration):
    dependencies = [("jobs", "0016_archived_jobs")]

    operations = [
        migrations.AlterField("job", "state", STATES),
        migrations.AlterField("shard", "state", STATES),
    ]
