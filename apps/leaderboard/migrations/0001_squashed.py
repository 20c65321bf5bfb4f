import apps.episodes.models.ids
import django.db.models.deletion
import django.db.models.functions.comparison
from django.conf import settings
from django.db import migrations, models

from apps.squashed import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('leaderboard', '0001_initial'),
        ('leaderboard', '0002_score_tools'),
        ('leaderboard', '0003_scores_without_intervals'),
        ('leaderboard', '0004_keys_and_reexecutions'),
        ('leaderboard', '0005_rankings_and_marks'),
        ('leaderboard', '0006_challenges_and_reported_rows'),
        ('leaderboard', '0007_first_places'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('agents', '0001_squashed'),
        ('episodes', '0001_squashed'),
        ('jobs', '0001_squashed'),
        ('seasons', '0001_squashed'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Challenge',
                fields=[
                    ('lease_token', models.UUIDField(blank=True, null=True)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('attempt', models.PositiveSmallIntegerField(default=0)),
                    ('person', models.CharField(blank=True, db_default='', default='', max_length=48)),
                    ('address', models.CharField(blank=True, db_default='', default='', max_length=32)),
                    ('id', models.CharField(default=apps.episodes.models.ids.make_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                    ('submission', models.PositiveIntegerField()),
                    ('agent_name', models.CharField(max_length=80)),
                    ('declared', models.CharField(choices=[('model', 'a language model'), ('program', 'a program'), ('person', 'a person')], max_length=8)),
                    ('spec', models.JSONField()),
                    ('visibility', models.CharField(choices=[('public', 'public'), ('unlisted', 'unlisted'), ('private', 'private')], db_default='public', default='public', max_length=8)),
                    ('deadline', models.DateTimeField()),
                    ('state', models.CharField(choices=[('open', 'waiting for episodes'), ('sent', 'being verified'), ('verified', 'verified'), ('reported', 'reported')], default='open', max_length=8)),
                    ('uploads', models.PositiveIntegerField(default=0)),
                    ('problem', models.TextField(blank=True, default='')),
                    ('lines', models.PositiveIntegerField(default=0)),
                    ('leaves', models.JSONField(default=list)),
                    ('executed', models.PositiveIntegerField(default=0)),
                    ('turns', models.PositiveBigIntegerField(default=0)),
                    ('notes', models.JSONField(default=dict)),
                    ('seconds', models.FloatField(default=0.0)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('sent', models.DateTimeField(blank=True, null=True)),
                    ('ended', models.DateTimeField(blank=True, null=True)),
                    ('batch', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='episodes.batch')),
                    ('job', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='challenge', to='jobs.job')),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='challenges', to=settings.AUTH_USER_MODEL)),
                    ('season', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='challenges', to='seasons.season')),
                ],
                options={
                    'ordering': ['-created'],
                    'indexes': [models.Index(fields=['owner', '-created'], name='leaderboard_owner_i_dcb7c3_idx'), models.Index(condition=models.Q(('state', 'sent')), fields=['sent'], name='results_to_verify')],
                    'constraints': [models.UniqueConstraint(fields=('season', 'submission'), name='one_challenge_per_submission')],
                },
            ),
            migrations.CreateModel(
                name='Ranking',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('benchmark', models.CharField(max_length=80)),
                    ('version', models.PositiveIntegerField()),
                    ('group', models.CharField(choices=[('played here', 'reproduced and hosted'), ('verified', 'Verified'), ('reported', 'Reported')], max_length=12)),
                    ('with_tools', models.BooleanField()),
                    ('rows', models.JSONField(default=list)),
                    ('ranks', models.JSONField(default=dict)),
                    ('claims', models.JSONField(default=list)),
                    ('computed', models.DateTimeField(blank=True, null=True)),
                    ('begun', models.DateTimeField(blank=True, null=True)),
                    ('season', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='rankings', to='seasons.season')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(models.F('benchmark'), models.F('version'), django.db.models.functions.comparison.Coalesce('season_id', 0), models.F('group'), models.F('with_tools'), name='one_ranking_per_board')],
                },
            ),
            migrations.CreateModel(
                name='Reexecution',
                fields=[
                    ('lease_token', models.UUIDField(blank=True, null=True)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('attempt', models.PositiveSmallIntegerField(default=0)),
                    ('person', models.CharField(blank=True, db_default='', default='', max_length=48)),
                    ('address', models.CharField(blank=True, db_default='', default='', max_length=32)),
                    ('job', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='reexecution', serialize=False, to='jobs.job')),
                    ('state', models.CharField(choices=[('waiting', 'being verified'), ('verified', 'verified'), ('differs', 'not verified'), ('unknown', 'cannot be verified')], default='waiting', max_length=12)),
                    ('tier', models.CharField(blank=True, default='', max_length=12)),
                    ('choices', models.CharField(blank=True, choices=[('', 'not repeated'), ('same', 'repeated'), ('other machine', 'not comparable')], default='', max_length=16)),
                    ('leaves', models.JSONField(default=list)),
                    ('turns', models.PositiveBigIntegerField(default=0)),
                    ('actions', models.PositiveBigIntegerField(default=0)),
                    ('seconds', models.FloatField(default=0.0)),
                    ('notes', models.JSONField(default=dict)),
                    ('field', models.CharField(blank=True, default='', max_length=40)),
                    ('place', models.CharField(blank=True, default='', max_length=200)),
                    ('difference', models.TextField(blank=True, default='')),
                    ('engine_version', models.CharField(blank=True, default='', max_length=40)),
                    ('certificate', models.JSONField(default=None, null=True)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('ended', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['created'], name='rows_to_verify')],
                },
            ),
            migrations.CreateModel(
                name='ReportedRow',
                fields=[
                    ('hidden_reason', models.TextField(blank=True, db_default='', default='')),
                    ('id', models.CharField(default=apps.episodes.models.ids.make_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                    ('agent_name', models.CharField(max_length=80)),
                    ('declared', models.CharField(choices=[('model', 'a language model'), ('program', 'a program'), ('person', 'a person')], max_length=8)),
                    ('benchmark', models.CharField(max_length=80)),
                    ('benchmark_version', models.PositiveIntegerField()),
                    ('tools', models.TextField(blank=True, default='')),
                    ('source', models.CharField(choices=[('numbers', 'numbers, without episodes'), ('challenge', 'episodes of a challenge, with outputs that do not repeat')], default='numbers', max_length=10)),
                    ('numbers', models.JSONField()),
                    ('score', models.FloatField()),
                    ('episodes', models.PositiveIntegerField()),
                    ('link', models.URLField(blank=True, default='', max_length=400)),
                    ('notes', models.TextField(blank=True, default='')),
                    ('visibility', models.CharField(choices=[('public', 'public'), ('unlisted', 'unlisted'), ('private', 'private')], db_default='public', default='public', max_length=8)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('challenge', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reported_rows', to='leaderboard.challenge')),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reported_rows', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['-created'],
                    'indexes': [models.Index(fields=['benchmark', 'benchmark_version', '-score'], name='leaderboard_benchma_096f98_idx'), models.Index(fields=['owner', '-created'], name='leaderboard_owner_i_16a333_idx')],
                },
            ),
            migrations.CreateModel(
                name='Score',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('benchmark', models.CharField(max_length=80)),
                    ('benchmark_version', models.PositiveIntegerField()),
                    ('env_id', models.CharField(blank=True, max_length=120)),
                    ('tools', models.TextField(blank=True, db_default='', default='')),
                    ('mean', models.FloatField()),
                    ('low', models.FloatField(blank=True, null=True)),
                    ('high', models.FloatField(blank=True, null=True)),
                    ('reason', models.TextField(blank=True, db_default='', default='')),
                    ('mean_return', models.FloatField()),
                    ('success_rate', models.FloatField()),
                    ('n', models.PositiveIntegerField()),
                    ('errors', models.PositiveIntegerField(default=0)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('mark', models.CharField(blank=True, choices=[('flagged', 'Flagged'), ('withdrawn', 'Withdrawn')], db_default='', default='', max_length=10)),
                    ('mark_reason', models.TextField(blank=True, db_default='', default='')),
                    ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='scores', to='agents.agent')),
                    ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='scores', to='jobs.job')),
                ],
                options={
                    'indexes': [models.Index(fields=['benchmark', 'benchmark_version', 'env_id', '-mean'], name='leaderboard_benchma_c9212a_idx')],
                    'constraints': [models.UniqueConstraint(fields=('job', 'benchmark', 'benchmark_version', 'env_id'), name='one_score_per_job')],
                },
            ),
            migrations.CreateModel(
                name='FirstPlace',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('worst', models.PositiveIntegerField()),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('ranking', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='first_places', to='leaderboard.ranking')),
                    ('score', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='first_places', to='leaderboard.score')),
                ],
                options={
                    'ordering': ['-created', '-pk'],
                    'indexes': [models.Index(fields=['-created', '-id'], name='newest_first_places')],
                },
            ),
            migrations.CreateModel(
                name='SiteKey',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('key_id', models.CharField(max_length=16, unique=True)),
                    ('public_key', models.CharField(max_length=44)),
                    ('sealed_key', models.TextField(blank=True)),
                    ('begins', models.DateTimeField()),
                    ('ends', models.DateTimeField(blank=True, null=True)),
                    ('withdrawn', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(models.Value(1), condition=models.Q(('ends', None)), name='one_key_signs')],
                },
            ),
        ]),
    ]
