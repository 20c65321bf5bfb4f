"""Webhooks send the events of live episodes and duels too, so what is read and sent has a topic."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0001_initial")]

    operations = [
        migrations.RemoveConstraint("place", "one_place_per_job"),
        migrations.RemoveConstraint("delivery", "one_delivery_per_event"),
        migrations.RenameField("place", "job", "key"),
        migrations.RenameField("delivery", "job", "key"),
        migrations.AddField("place", "topic", models.CharField(default="job", max_length=12), preserve_default=False),
        migrations.AddField(
            "delivery", "topic", models.CharField(default="job", max_length=12), preserve_default=False
        ),
        migrations.AddField("place", "is_over", models.BooleanField(default=False)),
        migrations.AddField("place", "read", models.DateTimeField(auto_now=True)),
        migrations.AddField("webhook", "episodes_since", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("webhook", "duels_since", models.DateTimeField(blank=True, null=True)),
        migrations.AddConstraint(
            "place", models.UniqueConstraint(fields=["webhook", "topic", "key"], name="one_place_per_row")
        ),
        migrations.AddConstraint(
            "delivery",
            models.UniqueConstraint(fields=["webhook", "topic", "key", "seq"], name="one_delivery_per_event"),
        ),
    ]
