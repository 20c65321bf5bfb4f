import apps.episodes.models.ids
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from apps.squashed import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('jobs', '0001_initial'),
        ('jobs', '0002_endpoint_agents'),
        ('jobs', '0003_trainings'),
        ('jobs', '0004_evaluate_best'),
        ('jobs', '0005_shards_rest_after_setbacks'),
        ('jobs', '0006_jobs_wait_in_line'),
        ('jobs', '0007_hidden_by_administrators'),
        ('jobs', '0008_jobs_by_time'),
        ('jobs', '0009_event_data'),
        ('jobs', '0010_data_of_old_events'),
        ('jobs', '0011_filing_of_jobs'),
        ('jobs', '0012_actions_and_data_of_shards'),
        ('jobs', '0013_controls'),
        ('jobs', '0014_books'),
        ('jobs', '0015_alarm_events'),
        ('jobs', '0016_archived_jobs'),
        ('jobs', '0017_stopped_trainings'),
        ('jobs', '0018_stopping_when_decided'),
        ('jobs', '0019_machines_of_shards'),
        ('jobs', '0020_started_jobs_of_agents'),
        ('jobs', '0021_turns_of_jobs'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('agents', '0001_squashed'),
        ('episodes', '0001_squashed'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Job',
                fields=[
                    ('hidden_reason', models.TextField(blank=True, db_default='', default='')),
                    ('id', models.CharField(default=apps.episodes.models.ids.make_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                    ('kind', models.CharField(choices=[('evaluation', 'Evaluation'), ('training', 'Training')], default='evaluation', max_length=12)),
                    ('name', models.CharField(blank=True, max_length=120)),
                    ('notes', models.TextField(blank=True, db_default='')),
                    ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), blank=True, db_default=[], default=list, size=None)),
                    ('group', models.CharField(blank=True, db_default='', max_length=12)),
                    ('priority', models.SmallIntegerField(choices=[(-1, 'Low'), (0, 'Normal'), (1, 'High')], db_default=0, default=0)),
                    ('spec', models.JSONField()),
                    ('set_up', models.JSONField(blank=True, null=True)),
                    ('parent_update', models.PositiveIntegerField(default=0)),
                    ('evaluate_best', models.BooleanField(db_default=False, default=False)),
                    ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('paused', 'Paused'), ('done', 'Done'), ('stopped', 'Stopped'), ('decided', 'stopped: decided'), ('cancelled', 'Cancelled'), ('failed', 'Failed')], default='queued', max_length=12)),
                    ('reason', models.TextField(blank=True)),
                    ('idempotency_key', models.CharField(blank=True, max_length=80)),
                    ('seq', models.PositiveIntegerField(default=0)),
                    ('episodes_total', models.PositiveIntegerField()),
                    ('episodes_done', models.PositiveIntegerField(default=0)),
                    ('turns_done', models.PositiveBigIntegerField(default=0)),
                    ('num_envs', models.PositiveSmallIntegerField(blank=True, null=True)),
                    ('max_workers', models.PositiveSmallIntegerField(blank=True, null=True)),
                    ('seconds_busy', models.FloatField(default=0.0)),
                    ('seconds_agent', models.FloatField(default=0.0)),
                    ('seconds_storing', models.FloatField(default=0.0)),
                    ('latest', models.JSONField(default=dict)),
                    ('served', models.DateTimeField(blank=True, null=True)),
                    ('archived', models.DateTimeField(blank=True, null=True)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('started', models.DateTimeField(blank=True, null=True)),
                    ('ended', models.DateTimeField(blank=True, null=True)),
                    ('agent', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='agents.agent')),
                    ('batch', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='job', to='episodes.batch')),
                    ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to=settings.AUTH_USER_MODEL)),
                    ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='forks', to='jobs.job')),
                ],
                options={
                    'ordering': ['-created'],
                    'indexes': [models.Index(fields=['state', 'created'], name='jobs_job_state_7cb95d_idx'), models.Index(fields=['-created', 'id'], name='jobs_by_time'), models.Index(fields=['owner', '-created'], name='jobs_job_owner_i_273106_idx'), models.Index(models.F('kind'), django.db.models.functions.comparison.Coalesce('owner_id', 0), models.F('state'), models.OrderBy(models.F('priority'), descending=True), models.F('created'), condition=models.Q(('state__in', ['queued', 'running'])), name='jobs_in_line'), django.contrib.postgres.indexes.GinIndex(fields=['tags'], name='jobs_by_tag'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector('name', 'notes', config='simple'), name='jobs_by_word'), models.Index(condition=models.Q(('group', ''), _negated=True), fields=['group'], name='jobs_of_group'), models.Index(condition=models.Q(('hidden_reason__gt', '')), fields=['batch'], name='hidden_jobs'), models.Index(condition=models.Q(('started__isnull', False)), fields=['agent', '-created'], name='started_jobs_of_agents')],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('idempotency_key', ''), _negated=True), fields=('owner', 'idempotency_key'), name='one_job_per_key')],
                },
            ),
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
                    ('turns', models.BigIntegerField(db_default=0, default=0)),
                    ('refusal', models.TextField(blank=True, db_default='', default='')),
                ],
                options={
                    'abstract': False,
                },
            ),
            migrations.CreateModel(
                name='Checkpoint',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('update', models.PositiveIntegerField()),
                    ('success', models.FloatField(blank=True, null=True)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('agent', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='checkpoint', to='agents.agent')),
                    ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='checkpoints', to='jobs.job')),
                ],
                options={
                    'ordering': ['update'],
                    'constraints': [models.UniqueConstraint(fields=('job', 'update'), name='one_checkpoint_per_update')],
                },
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
                name='JobEvent',
                fields=[
                    ('pk', models.CompositePrimaryKey('job_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('seq', models.PositiveIntegerField()),
                    ('kind', models.CharField(choices=[('submitted', 'Submitted'), ('claimed', 'Claimed'), ('episodes', 'Episodes'), ('updates', 'Updates'), ('samples', 'Samples'), ('checkpoint', 'Checkpoint'), ('alarm', 'Alarm'), ('requeued', 'Requeued'), ('paused', 'Paused'), ('resumed', 'Resumed'), ('changed', 'Changed'), ('retried', 'Retried'), ('ended', 'Ended')], max_length=12)),
                    ('tone', models.CharField(blank=True, choices=[('', 'Plain'), ('warn', 'Warn'), ('loss', 'Loss')], max_length=4)),
                    ('text', models.TextField()),
                    ('slots', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveIntegerField(), default=list, size=None)),
                    ('data', models.JSONField(db_default={}, default=dict)),
                    ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='jobs.job')),
                ],
                options={
                    'ordering': ['seq'],
                },
            ),
            migrations.CreateModel(
                name='Point',
                fields=[
                    ('pk', models.CompositePrimaryKey('job_id', 'update', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('update', models.PositiveIntegerField()),
                    ('data', models.JSONField()),
                    ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='points', to='jobs.job')),
                ],
                options={
                    'ordering': ['update'],
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
            migrations.CreateModel(
                name='Sample',
                fields=[
                    ('episode', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='sample', serialize=False, to='episodes.episode')),
                    ('update', models.PositiveIntegerField()),
                    ('group', models.PositiveIntegerField()),
                    ('exam', models.BooleanField(default=False)),
                    ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='samples', to='jobs.job')),
                ],
                options={
                    'ordering': ['update', 'group', 'episode__slot'],
                    'indexes': [models.Index(fields=['job', 'update'], name='jobs_sample_job_id_31461f_idx')],
                },
            ),
            migrations.CreateModel(
                name='Shard',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('lease_token', models.UUIDField(blank=True, null=True)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('attempt', models.PositiveSmallIntegerField(default=0)),
                    ('number', models.PositiveIntegerField()),
                    ('env_id', models.CharField(max_length=120)),
                    ('first_slot', models.PositiveIntegerField()),
                    ('first_seed', models.BigIntegerField(default=0)),
                    ('count', models.PositiveIntegerField()),
                    ('done', models.PositiveIntegerField(default=0)),
                    ('won', models.PositiveIntegerField(default=0)),
                    ('limited', models.PositiveIntegerField(default=0)),
                    ('errors', models.PositiveIntegerField(default=0)),
                    ('unanswered', models.PositiveIntegerField(db_default=0, default=0)),
                    ('cancelled', models.PositiveIntegerField(db_default=0, default=0)),
                    ('orders', models.JSONField(blank=True, db_default={}, default=dict)),
                    ('skipped', models.BooleanField(db_default=False, default=False)),
                    ('tokens_in', models.PositiveBigIntegerField(db_default=0, default=0)),
                    ('tokens_out', models.PositiveBigIntegerField(db_default=0, default=0)),
                    ('actions', models.PositiveBigIntegerField(default=0, null=True)),
                    ('unreadable', models.PositiveBigIntegerField(default=0, null=True)),
                    ('forbidden', models.PositiveBigIntegerField(default=0, null=True)),
                    ('data', models.JSONField(db_default={}, default=dict)),
                    ('machine', models.CharField(blank=True, db_default='', default='', max_length=200)),
                    ('turns', models.PositiveBigIntegerField(default=0)),
                    ('return_sum', models.FloatField(default=0.0)),
                    ('return_squares', models.FloatField(default=0.0)),
                    ('seconds', models.FloatField(default=0.0)),
                    ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('paused', 'Paused'), ('done', 'Done'), ('stopped', 'Stopped'), ('decided', 'stopped: decided'), ('cancelled', 'Cancelled'), ('failed', 'Failed')], default='queued', max_length=12)),
                    ('reason', models.TextField(blank=True)),
                    ('setbacks', models.PositiveSmallIntegerField(db_default=0, default=0)),
                    ('rests_until', models.DateTimeField(blank=True, null=True)),
                    ('sent', models.DateTimeField(blank=True, null=True)),
                    ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shards', to='jobs.job')),
                ],
                options={
                    'ordering': ['number'],
                    'indexes': [models.Index(fields=['state', 'lease_until'], name='jobs_shard_state_0ccded_idx'), models.Index(condition=models.Q(('state', 'queued')), fields=['job', 'number'], name='queued_shards')],
                    'constraints': [models.UniqueConstraint(fields=('job', 'number'), name='one_shard_per_number')],
                },
            ),
            migrations.CreateModel(
                name='Decision',
                fields=[
                    ('job', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='decision', serialize=False, to='jobs.job')),
                    ('planned', models.PositiveIntegerField()),
                    ('seeds', models.PositiveIntegerField(db_default=0, default=0)),
                    ('evidence', models.FloatField(db_default=1.0, default=1.0)),
                    ('low', models.FloatField(db_default=-1.0, default=-1.0)),
                    ('high', models.FloatField(db_default=1.0, default=1.0)),
                    ('is_decided', models.BooleanField(db_default=False, default=False)),
                    ('looked_at', models.PositiveIntegerField(db_default=0, default=0)),
                    ('against', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='decisions_of_others', to='jobs.job')),
                ],
            ),
        ]),
    ]
