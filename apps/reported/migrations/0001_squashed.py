import apps.episodes.models.ids
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from apps.squashed import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('reported', '0001_reported_evaluations'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='ReportedEvaluation',
                fields=[
                    ('hidden_reason', models.TextField(blank=True, db_default='', default='')),
                    ('id', models.CharField(default=apps.episodes.models.ids.make_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                    ('name', models.CharField(max_length=120)),
                    ('model', models.CharField(blank=True, default='', max_length=120)),
                    ('source', models.CharField(choices=[('verifiers', 'verifiers'), ('inspect', 'Inspect'), ('gem', 'GEM'), ('file', 'a file')], max_length=9)),
                    ('key', models.CharField(blank=True, default='', max_length=80)),
                    ('environments', models.JSONField(default=list)),
                    ('config', models.JSONField(default=dict)),
                    ('metrics', models.JSONField(default=dict)),
                    ('visibility', models.CharField(choices=[('public', 'public'), ('unlisted', 'unlisted'), ('private', 'private')], db_default='public', default='public', max_length=8)),
                    ('state', models.CharField(choices=[('arriving', 'arriving'), ('waiting', 'waiting to be read'), ('reading', 'being read'), ('running', 'open'), ('done', 'finished'), ('failed', 'failed'), ('refused', 'not readable')], default='running', max_length=8)),
                    ('reason', models.TextField(blank=True, default='')),
                    ('attempt', models.PositiveSmallIntegerField(default=0)),
                    ('begun', models.DateTimeField(blank=True, null=True)),
                    ('episodes', models.PositiveIntegerField(default=0)),
                    ('reward_sum', models.FloatField(default=0.0)),
                    ('rewarded', models.PositiveIntegerField(default=0)),
                    ('solved', models.PositiveIntegerField(default=0)),
                    ('judged', models.PositiveIntegerField(default=0)),
                    ('errors', models.PositiveIntegerField(default=0)),
                    ('size', models.PositiveBigIntegerField(default=0)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('ended', models.DateTimeField(blank=True, null=True)),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reported_evaluations', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['-created'],
                    'indexes': [models.Index(fields=['-created', 'id'], name='reported_by_time'), models.Index(fields=['owner', '-created'], name='reported_of_owner'), models.Index(condition=models.Q(('state__in', ['waiting', 'reading'])), fields=['created'], name='reported_to_read')],
                },
            ),
            migrations.CreateModel(
                name='ReportedEpisode',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('number', models.PositiveIntegerField()),
                    ('key', models.CharField(max_length=120)),
                    ('example', models.CharField(blank=True, max_length=120)),
                    ('env_id', models.CharField(blank=True, max_length=120)),
                    ('reward', models.FloatField(blank=True, null=True)),
                    ('solved', models.BooleanField(blank=True, null=True)),
                    ('error', models.TextField(blank=True)),
                    ('turns', models.PositiveIntegerField(default=0)),
                    ('messages', models.JSONField()),
                    ('left_out', models.PositiveIntegerField(default=0)),
                    ('extra', models.JSONField(default=dict)),
                    ('evaluation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='rows', to='reported.reportedevaluation')),
                ],
                options={
                    'ordering': ['number'],
                    'constraints': [models.UniqueConstraint(fields=('evaluation', 'number'), name='one_reported_episode_per_number'), models.UniqueConstraint(fields=('evaluation', 'key'), name='one_reported_episode_per_key')],
                },
            ),
        ]),
    ]
