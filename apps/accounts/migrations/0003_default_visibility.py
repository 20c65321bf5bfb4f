"""The visibility of what somebody begins or adds without choosing one."""

from django.db import migrations, models

CHOICES = [("public", "public"), ("unlisted", "unlisted"), ("private", "private")]


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_drop_failed_logins")]

    operations = [
        migrations.AddField(
            "user",
            "default_visibility",
            models.CharField(choices=CHOICES, db_default="public", default="public", max_length=8),
        ),
        migrations.AddField(
            "user",
            "agent_visibility",
            models.CharField(choices=CHOICES, db_default="private", default="private", max_length=8),
        ),
    ]
