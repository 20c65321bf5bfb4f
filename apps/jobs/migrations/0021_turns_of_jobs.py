from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0020_started_jobs_of_agents"),
    ]

    operations = [
        migrations.AddField(
            model_name="jobbooks",
            name="turns",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
    ]
