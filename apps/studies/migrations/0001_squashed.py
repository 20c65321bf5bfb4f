import apps.episodes.models.ids
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from apps.squashed import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('studies', '0001_initial'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('agents', '0001_squashed'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Study',
                fields=[
                    ('hidden_reason', models.TextField(blank=True, db_default='', default='')),
                    ('id', models.CharField(default=apps.episodes.models.ids.make_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                    ('title', models.CharField(max_length=100)),
                    ('plan_data', models.JSONField()),
                    ('visibility', models.CharField(choices=[('public', 'public'), ('unlisted', 'unlisted'), ('private', 'private')], db_default='public', default='public', max_length=8)),
                    ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('paused', 'Paused'), ('done', 'Done'), ('cancelled', 'Cancelled'), ('failed', 'Failed')], default='queued', max_length=9)),
                    ('reason', models.TextField(blank=True, default='')),
                    ('keeps_policies', models.BooleanField(default=False)),
                    ('reuses_results', models.BooleanField(default=True)),
                    ('idempotency_key', models.CharField(blank=True, default='', max_length=80)),
                    ('seq', models.PositiveIntegerField(default=0)),
                    ('total', models.PositiveIntegerField()),
                    ('done', models.PositiveIntegerField(default=0)),
                    ('reused', models.PositiveIntegerField(default=0)),
                    ('cpu_seconds', models.FloatField(default=0.0)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('started', models.DateTimeField(blank=True, null=True)),
                    ('ended', models.DateTimeField(blank=True, null=True)),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='studies', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'verbose_name_plural': 'studies',
                    'ordering': ['-created'],
                    'indexes': [models.Index(fields=['-created', 'id'], name='studies_by_time'), models.Index(fields=['owner', '-created'], name='studies_of_owner')],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('idempotency_key', ''), _negated=True), fields=('owner', 'idempotency_key'), name='one_study_per_key')],
                },
            ),
            migrations.CreateModel(
                name='StudyRun',
                fields=[
                    ('lease_token', models.UUIDField(blank=True, null=True)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('attempt', models.PositiveSmallIntegerField(default=0)),
                    ('person', models.CharField(blank=True, db_default='', default='', max_length=48)),
                    ('address', models.CharField(blank=True, db_default='', default='', max_length=32)),
                    ('id', models.CharField(default=apps.episodes.models.ids.make_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                    ('number', models.PositiveIntegerField()),
                    ('environment', models.CharField(max_length=40)),
                    ('variant', models.CharField(max_length=200)),
                    ('seed', models.PositiveIntegerField()),
                    ('tuned', models.JSONField(blank=True, null=True)),
                    ('state', models.CharField(choices=[('waiting', 'to be made'), ('done', 'Done'), ('failed', 'Failed')], default='waiting', max_length=7)),
                    ('sentence', models.TextField(blank=True, default='')),
                    ('result_data', models.JSONField(blank=True, null=True)),
                    ('is_reused', models.BooleanField(default=False)),
                    ('cpu_seconds', models.FloatField(default=0.0)),
                    ('update', models.PositiveIntegerField(default=0)),
                    ('updates', models.PositiveIntegerField(default=0)),
                    ('curve', models.JSONField(default=list)),
                    ('began', models.DateTimeField(blank=True, null=True)),
                    ('ended', models.DateTimeField(blank=True, null=True)),
                    ('agent', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='study_run', to='agents.agent')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='studies.study')),
                ],
                options={
                    'ordering': ['number'],
                    'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['study'], name='study_runs_to_make')],
                    'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='one_run_per_place')],
                },
            ),
        ]),
    ]
