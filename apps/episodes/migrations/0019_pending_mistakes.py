"""Episodes about which somebody has asked the expert."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("episodes", "0018_closed_batches")]

    operations = [
        migrations.CreateModel(
            name="PendingMistakes",
            fields=[
                ("lease_token", models.UUIDField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("attempt", models.PositiveSmallIntegerField(default=0)),
                ("person", models.CharField(blank=True, db_default="", default="", max_length=48)),
                ("address", models.CharField(blank=True, db_default="", default="", max_length=32)),
                (
                    "episode",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="episodes.episode",
                    ),
                ),
                ("created", models.DateTimeField(auto_now_add=True)),
            ],
            options={"abstract": False},
        ),
    ]
