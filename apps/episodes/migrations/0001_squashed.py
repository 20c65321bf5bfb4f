import apps.episodes.models.ids
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from apps.squashed import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('episodes', '0001_initial'),
        ('episodes', '0002_several_seats'),
        ('episodes', '0003_pending_turns'),
        ('episodes', '0004_endpoint_agents'),
        ('episodes', '0005_duels'),
        ('episodes', '0006_advice'),
        ('episodes', '0007_of_job'),
        ('episodes', '0008_indexes_for_long_lists'),
        ('episodes', '0009_pending_turns_wait_in_line'),
        ('episodes', '0010_visibility'),
        ('episodes', '0011_hidden_by_administrators'),
        ('episodes', '0012_held_address'),
        ('episodes', '0013_pendingverification'),
        ('episodes', '0014_duel_changes'),
        ('episodes', '0015_changes_of_old_duels'),
        ('episodes', '0016_token_limit'),
        ('episodes', '0017_endings_and_use'),
        ('episodes', '0018_closed_batches'),
        ('episodes', '0019_pending_mistakes'),
        ('episodes', '0020_readable_episodes_by_time'),
        ('episodes', '0021_handovers'),
        ('episodes', '0022_names_of_guests'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('agents', '0001_squashed'),
        ('seasons', '0001_squashed'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Batch',
                fields=[
                    ('id', models.CharField(default=apps.episodes.models.ids.make_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                    ('kind', models.CharField(choices=[('job', 'Job'), ('showcase', 'Showcase'), ('example', 'Example'), ('duel', 'Duel'), ('ranked', 'Ranked')], max_length=12)),
                    ('seq', models.PositiveIntegerField(db_default=0, default=0)),
                    ('visibility', models.CharField(choices=[('public', 'public'), ('unlisted', 'unlisted'), ('private', 'private')], db_default='public', default='public', max_length=8)),
                    ('closed', models.BooleanField(db_default=False, default=False)),
                    ('submission', models.PositiveIntegerField(db_default=0, default=0)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('season', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='batches', to='seasons.season')),
                ],
                options={
                    'indexes': [models.Index(condition=models.Q(('closed', True)), fields=['id'], name='closed_batches')],
                },
            ),
            migrations.CreateModel(
                name='Episode',
                fields=[
                    ('hidden_reason', models.TextField(blank=True, db_default='', default='')),
                    ('id', models.CharField(default=apps.episodes.models.ids.make_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                    ('slot', models.PositiveIntegerField(blank=True, null=True)),
                    ('of_job', models.BooleanField(db_default=False, default=False)),
                    ('env_id', models.CharField(max_length=120)),
                    ('env_version', models.PositiveIntegerField()),
                    ('env_kwargs', models.JSONField(blank=True, default=dict)),
                    ('data_hash', models.CharField(blank=True, max_length=64)),
                    ('wrappers', models.JSONField(blank=True, default=list)),
                    ('seed', models.BigIntegerField()),
                    ('tape', models.JSONField(blank=True, null=True)),
                    ('engine_version', models.CharField(max_length=20)),
                    ('python_version', models.CharField(max_length=20)),
                    ('status', models.CharField(choices=[('running', 'Running'), ('ended', 'Ended'), ('failed', 'Failed'), ('abandoned', 'Abandoned')], default='running', max_length=12)),
                    ('terminated', models.BooleanField(default=False)),
                    ('truncated', models.BooleanField(default=False)),
                    ('cut', models.CharField(blank=True, db_default='', default='', max_length=8)),
                    ('success', models.BooleanField(blank=True, null=True)),
                    ('failure', models.TextField(blank=True)),
                    ('failed_by', models.CharField(blank=True, choices=[('environment', 'Environment'), ('agent', 'Agent')], db_default='', default='', max_length=12)),
                    ('ending_kind', models.CharField(blank=True, db_default='', default='', max_length=12)),
                    ('ending_text', models.CharField(blank=True, db_default='', default='', max_length=160)),
                    ('tokens_in', models.BigIntegerField(blank=True, null=True)),
                    ('tokens_out', models.BigIntegerField(blank=True, null=True)),
                    ('answer_seconds', models.FloatField(blank=True, null=True)),
                    ('unreadable', models.IntegerField(blank=True, null=True)),
                    ('forbidden', models.IntegerField(blank=True, null=True)),
                    ('first_observation', models.TextField(blank=True)),
                    ('first_info', models.JSONField(blank=True, default=dict)),
                    ('turn_count', models.PositiveIntegerField(default=0)),
                    ('max_turns', models.PositiveIntegerField(default=0)),
                    ('state', models.JSONField(blank=True, null=True)),
                    ('seat_count', models.PositiveSmallIntegerField(db_default=1, default=1)),
                    ('acting', models.PositiveSmallIntegerField(db_default=0, default=0)),
                    ('scored_seat', models.PositiveSmallIntegerField(db_default=0, default=0)),
                    ('seq', models.PositiveIntegerField(default=0)),
                    ('parent_turn', models.PositiveIntegerField(blank=True, null=True)),
                    ('taken_over', models.BooleanField(db_default=False, default=False)),
                    ('visibility', models.CharField(choices=[('public', 'public'), ('unlisted', 'unlisted'), ('private', 'private')], db_default='public', default='public', max_length=8)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('ended', models.DateTimeField(blank=True, null=True)),
                    ('batch', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='episodes', to='episodes.batch')),
                    ('goes_on_in', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='episodes.episode')),
                    ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='branches', to='episodes.episode')),
                ],
                options={
                    'indexes': [models.Index(fields=['env_id', '-created'], name='episodes_ep_env_id_00388f_idx'), models.Index(fields=['seed', 'env_id'], name='episodes_by_seed'), models.Index(condition=models.Q(('of_job', False), ('seed__gte', 0), _connector='OR'), fields=['-created', 'id'], include=('of_job', 'visibility', 'batch'), name='readable_episodes_by_time'), models.Index(condition=models.Q(('of_job', False)), fields=['-created', 'id'], include=('visibility', 'of_job', 'batch'), name='episodes_not_of_jobs'), models.Index(condition=models.Q(('status', 'failed')), fields=['-created', 'id'], name='failed_episodes'), models.Index(condition=models.Q(('status', 'failed')), fields=['batch', 'slot'], name='failed_episodes_of_batch'), models.Index(condition=models.Q(('status', 'abandoned')), fields=['-created', 'id'], name='abandoned_episodes'), models.Index(condition=models.Q(('status', 'running')), fields=['-created'], name='running_episodes')],
                    'constraints': [models.UniqueConstraint(fields=('batch', 'slot'), name='one_episode_per_slot'), models.CheckConstraint(condition=models.Q(('terminated', True), ('truncated', True), _negated=True), name='terminated_or_truncated_never_both')],
                },
            ),
            migrations.CreateModel(
                name='PendingMistakes',
                fields=[
                    ('lease_token', models.UUIDField(blank=True, null=True)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('attempt', models.PositiveSmallIntegerField(default=0)),
                    ('person', models.CharField(blank=True, db_default='', default='', max_length=48)),
                    ('address', models.CharField(blank=True, db_default='', default='', max_length=32)),
                    ('episode', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='episodes.episode')),
                    ('created', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'abstract': False,
                },
            ),
            migrations.CreateModel(
                name='PendingTurn',
                fields=[
                    ('lease_token', models.UUIDField(blank=True, null=True)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('attempt', models.PositiveSmallIntegerField(default=0)),
                    ('person', models.CharField(blank=True, db_default='', default='', max_length=48)),
                    ('address', models.CharField(blank=True, db_default='', default='', max_length=32)),
                    ('episode', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='pending', serialize=False, to='episodes.episode')),
                    ('number', models.PositiveIntegerField()),
                    ('seat', models.PositiveSmallIntegerField(default=0)),
                    ('action', models.TextField()),
                    ('replaced', models.TextField(blank=True)),
                    ('problem', models.TextField(blank=True)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'indexes': [models.Index(fields=['lease_until'], name='episodes_pe_lease_u_3a2ca1_idx')],
                },
            ),
            migrations.CreateModel(
                name='PendingVerification',
                fields=[
                    ('lease_token', models.UUIDField(blank=True, null=True)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('attempt', models.PositiveSmallIntegerField(default=0)),
                    ('person', models.CharField(blank=True, db_default='', default='', max_length=48)),
                    ('address', models.CharField(blank=True, db_default='', default='', max_length=32)),
                    ('episode', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='episodes.episode')),
                    ('created', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'abstract': False,
                },
            ),
            migrations.CreateModel(
                name='DuelChange',
                fields=[
                    ('pk', models.CompositePrimaryKey('duel_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('seq', models.PositiveIntegerField()),
                    ('kind', models.CharField(choices=[('joined', 'Joined'), ('turn', 'Turn'), ('ended', 'Ended'), ('over', 'Over')], max_length=8)),
                    ('number', models.PositiveIntegerField(default=0)),
                    ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ('duel', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='changes', to='episodes.batch')),
                    ('episode', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='episodes.episode')),
                ],
                options={
                    'ordering': ['seq'],
                },
            ),
            migrations.CreateModel(
                name='Handover',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('seat', models.PositiveSmallIntegerField()),
                    ('kind', models.CharField(choices=[('taken', 'Taken'), ('note', 'Note'), ('returned', 'Returned')], max_length=8)),
                    ('after', models.PositiveIntegerField()),
                    ('text', models.CharField(blank=True, default='', max_length=500)),
                    ('read_in', models.PositiveIntegerField(blank=True, null=True)),
                    ('visitor', models.CharField(blank=True, default='', max_length=32)),
                    ('seq', models.PositiveIntegerField()),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('episode', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='handovers', to='episodes.episode')),
                    ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['seq', 'id'],
                },
            ),
            migrations.CreateModel(
                name='Seat',
                fields=[
                    ('pk', models.CompositePrimaryKey('episode_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('number', models.PositiveSmallIntegerField()),
                    ('visitor', models.CharField(blank=True, max_length=32)),
                    ('name', models.CharField(blank=True, db_default='', default='', max_length=24)),
                    ('total_reward', models.FloatField(default=0.0)),
                    ('success', models.BooleanField(blank=True, null=True)),
                    ('set_up', models.JSONField(blank=True, null=True)),
                    ('held', models.TextField(blank=True, db_default='', default='')),
                    ('held_address', models.CharField(blank=True, db_default='', default='', max_length=32)),
                    ('advised', models.BooleanField(db_default=False, default=False)),
                    ('agent', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='seats', to='agents.agent')),
                    ('episode', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='seats', to='episodes.episode')),
                    ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='seats', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'indexes': [models.Index(fields=['user', 'episode'], name='episodes_se_user_id_808a37_idx'), models.Index(fields=['agent', 'episode'], name='episodes_se_agent_i_42ce07_idx')],
                },
            ),
            migrations.CreateModel(
                name='Turn',
                fields=[
                    ('pk', models.CompositePrimaryKey('episode_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('number', models.PositiveIntegerField()),
                    ('seat', models.PositiveSmallIntegerField(default=0)),
                    ('action', models.TextField()),
                    ('observation', models.TextField()),
                    ('reward', models.FloatField()),
                    ('info', models.JSONField(default=dict)),
                    ('extra', models.JSONField(blank=True, null=True)),
                    ('seq', models.PositiveIntegerField(blank=True, null=True)),
                    ('state', models.JSONField(blank=True, null=True)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('episode', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='turns', to='episodes.episode')),
                ],
                options={
                    'ordering': ['number'],
                },
            ),
        ]),
    ]
