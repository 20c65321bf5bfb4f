"""Scores name the tools that the agent had."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("leaderboard", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="score",
            name="tools",
            field=models.TextField(blank=True, db_default="", default=""),
        )
    ]
