"""An index for the pages of the list of jobs."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0007_hidden_by_administrators")]

    operations = [
        migrations.AddIndex(model_name="job", index=models.Index(fields=["-created", "id"], name="jobs_by_time")),
    ]
