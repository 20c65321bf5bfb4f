"""Shards count unreadable and forbidden actions, and name their data; forks count only their own episodes."""

from django.db import migrations, models

COUNT_OWN_EPISODES = """
UPDATE jobs_job
SET episodes_total = greatest((spec ->> 'updates')::bigint - parent_update, 0) * (spec ->> 'episodes')::bigint,
    episodes_done = greatest(coalesce((latest ->> 'update')::bigint, parent_update) - parent_update, 0)
        * (spec ->> 'episodes')::bigint
WHERE kind = 'training' AND parent_update > 0 AND spec ? 'updates' AND spec ? 'episodes';
"""


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0011_filing_of_jobs'),
    ]

    operations = [
        migrations.AddField('shard', 'actions', models.PositiveBigIntegerField(null=True)),
        migrations.AddField('shard', 'unreadable', models.PositiveBigIntegerField(null=True)),
        migrations.AddField('shard', 'forbidden', models.PositiveBigIntegerField(null=True)),
        migrations.AlterField('shard', 'actions', models.PositiveBigIntegerField(default=0, null=True)),
        migrations.AlterField('shard', 'unreadable', models.PositiveBigIntegerField(default=0, null=True)),
        migrations.AlterField('shard', 'forbidden', models.PositiveBigIntegerField(default=0, null=True)),
        migrations.AddField('shard', 'data', models.JSONField(db_default={}, default=dict)),
        migrations.RunSQL(COUNT_OWN_EPISODES, migrations.RunSQL.noop),
    ]
