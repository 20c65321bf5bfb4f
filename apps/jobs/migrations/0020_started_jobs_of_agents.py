from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0019_machines_of_shards"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("started__isnull", False)),
                fields=["agent", "-created"],
                name="started_jobs_of_agents",
            ),
        ),
    ]
