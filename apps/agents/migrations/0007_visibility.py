"""Agents are public, unlisted or private. Shared and built-in ones become public."""

from django.db import migrations, models
from django.db.models import Q

CHOICES = [("public", "public"), ("unlisted", "unlisted"), ("private", "private")]


def open_shared(apps, schema_editor):
    """What everybody could use so far stays open to everybody."""
    apps.get_model("agents", "Agent").objects.filter(Q(shared=True) | Q(owner=None)).update(visibility="public")
    apps.get_model("agents", "Upload").objects.filter(shared=True).update(visibility="public")


def share_open(apps, schema_editor):
    """The reverse. What is unlisted becomes private, as far as there is no such state."""
    apps.get_model("agents", "Agent").objects.filter(visibility="public").exclude(owner=None).update(shared=True)
    apps.get_model("agents", "Upload").objects.filter(visibility="public").update(shared=True)


class Migration(migrations.Migration):
    dependencies = [("agents", "0006_uploads")]

    operations = [
        *(
            migrations.AddField(
                model,
                "visibility",
                models.CharField(choices=CHOICES, db_default="private", default="private", max_length=8),
            )
            for model in ("agent", "upload")
        ),
        migrations.RunPython(open_shared, share_open),
        migrations.RemoveField("agent", "shared"),
        migrations.RemoveField("upload", "shared"),
    ]
