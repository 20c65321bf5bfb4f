"""The books of jobs. Jobs that a budget has stopped get a state of their own, and old jobs the sums of their shards."""

import django.db.models.deletion
from django.db import migrations, models


STOPPED = """
UPDATE jobs_jobevent AS event SET data = event.data || '{"state": "stopped"}'
FROM jobs_job job
WHERE event.job_id = job.id AND event.kind = 'ended' AND event.data ->> 'state' = 'cancelled'
    AND job.kind = 'evaluation' AND job.state = 'cancelled' AND job.reason <> '';
UPDATE jobs_job SET state = 'stopped' WHERE kind = 'evaluation' AND state = 'cancelled' AND reason <> '';
"""
BOOKS = """
INSERT INTO jobs_jobbooks (job_id, tokens_in, tokens_out, money)
SELECT job.id, sum(shard.tokens_in), sum(shard.tokens_out), ceil(1000 * (
    sum(shard.tokens_in) * coalesce((job.set_up #>> '{prices,tokens_in}')::numeric, 0)
    + sum(shard.tokens_out) * coalesce((job.set_up #>> '{prices,tokens_out}')::numeric, 0)
)) / 1000000000
FROM jobs_job job JOIN jobs_shard shard ON shard.job_id = job.id
WHERE job.kind = 'evaluation'
GROUP BY job.id
HAVING sum(shard.tokens_in + shard.tokens_out) > 0;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0013_controls'),
    ]

    operations = [
        migrations.CreateModel(
            name='JobBooks',
            fields=[
                ('tokens_in', models.BigIntegerField(db_default=0, default=0)),
                ('tokens_out', models.BigIntegerField(db_default=0, default=0)),
                ('estimated_in', models.BigIntegerField(db_default=0, default=0)),
                ('estimated_out', models.BigIntegerField(db_default=0, default=0)),
                ('requests', models.BigIntegerField(db_default=0, default=0)),
                ('money', models.DecimalField(db_default=0, decimal_places=9, default=0, max_digits=30)),
                ('job', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='books', serialize=False, to='jobs.job')),
                ('refusal', models.TextField(blank=True, db_default='', default='')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AlterField(
            model_name='job',
            name='state',
            field=models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('paused', 'Paused'), ('done', 'Done'), ('stopped', 'stopped by its budget'), ('cancelled', 'Cancelled'), ('failed', 'Failed')], default='queued', max_length=12),
        ),
        migrations.AlterField(
            model_name='shard',
            name='state',
            field=models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('paused', 'Paused'), ('done', 'Done'), ('stopped', 'stopped by its budget'), ('cancelled', 'Cancelled'), ('failed', 'Failed')], default='queued', max_length=12),
        ),
        migrations.CreateModel(
            name='EpisodeBooks',
            fields=[
                ('tokens_in', models.BigIntegerField(db_default=0, default=0)),
                ('tokens_out', models.BigIntegerField(db_default=0, default=0)),
                ('estimated_in', models.BigIntegerField(db_default=0, default=0)),
                ('estimated_out', models.BigIntegerField(db_default=0, default=0)),
                ('requests', models.BigIntegerField(db_default=0, default=0)),
                ('money', models.DecimalField(db_default=0, decimal_places=9, default=0, max_digits=30)),
                ('pk', models.CompositePrimaryKey('job_id', 'slot', 'side', blank=True, editable=False, primary_key=True, serialize=False)),
                ('slot', models.IntegerField()),
                ('side', models.CharField(max_length=8)),
                ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='episode_books', to='jobs.job')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Reservation',
            fields=[
                ('pk', models.CompositePrimaryKey('holder', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('holder', models.UUIDField()),
                ('number', models.BigIntegerField()),
                ('slot', models.IntegerField()),
                ('side', models.CharField(max_length=8)),
                ('tokens_in', models.BigIntegerField()),
                ('tokens_out', models.BigIntegerField()),
                ('money', models.DecimalField(decimal_places=9, max_digits=30)),
                ('is_estimated', models.BooleanField(db_default=False, default=False)),
                ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='reservations', to='jobs.job')),
            ],
            options={
                'indexes': [models.Index(fields=['job'], name='reservations_of_job')],
            },
        ),
        migrations.RunSQL(STOPPED, "UPDATE jobs_job SET state = 'cancelled' WHERE state = 'stopped'"),
        migrations.RunSQL(BOOKS, migrations.RunSQL.noop),
    ]
