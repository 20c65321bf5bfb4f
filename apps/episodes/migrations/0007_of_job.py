from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('episodes', '0006_advice'),
    ]

    operations = [
        migrations.AddField(
            model_name='episode',
            name='of_job',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunSQL(
            "UPDATE episodes_episode SET of_job = true FROM episodes_batch"
            " WHERE episodes_batch.id = episodes_episode.batch_id AND episodes_batch.kind = 'job'",
            migrations.RunSQL.noop,
        ),
        migrations.AddIndex(
            model_name='episode',
            index=models.Index(
                condition=models.Q(('of_job', False)), fields=['-created', 'id'], name='episodes_not_of_jobs'
            ),
        ),
    ]
