"""Jobs can be archived, which takes them out of lists."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0015_alarm_events'),
    ]

    operations = [
        migrations.AddField('job', 'archived', models.DateTimeField(blank=True, null=True)),
    ]
