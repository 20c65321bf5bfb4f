"""Scores without an interval say why, instead of having equal ends."""

from django.db import migrations, models

REASON = "No interval: the returns are equal, or too few, so too little is known of their spread."


class Migration(migrations.Migration):
    dependencies = [("leaderboard", "0002_score_tools")]

    operations = [
        migrations.AlterField("score", "low", models.FloatField(blank=True, null=True)),
        migrations.AlterField("score", "high", models.FloatField(blank=True, null=True)),
        migrations.AddField("score", "reason", models.TextField(blank=True, db_default="", default="")),
        migrations.RunSQL(
            f"UPDATE leaderboard_score SET low = NULL, high = NULL, reason = '{REASON}' WHERE low = high",
            "UPDATE leaderboard_score SET low = mean, high = mean WHERE low IS NULL",
        ),
    ]
