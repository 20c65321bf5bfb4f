import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from apps.squashed import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('remote', '0001_remote_agents'),
    ]

    initial = True

    dependencies = [
        ('agents', '0001_squashed'),
        ('episodes', '0001_squashed'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Remote',
                fields=[
                    ('agent', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='remote', serialize=False, to='agents.agent')),
                    ('seats', models.PositiveSmallIntegerField(default=4)),
                    ('holder', models.UUIDField(blank=True, null=True)),
                    ('alive_until', models.DateTimeField(blank=True, null=True)),
                    ('since', models.DateTimeField(blank=True, null=True)),
                    ('came_from', models.CharField(blank=True, db_default='', default='', max_length=80)),
                    ('turn_seconds', models.FloatField(blank=True, null=True)),
                ],
            ),
            migrations.CreateModel(
                name='EpisodeKey',
                fields=[
                    ('episode', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='chat_key', serialize=False, to='episodes.episode')),
                    ('digest', models.CharField(max_length=64, unique=True)),
                    ('expires', models.DateTimeField()),
                    ('replies', models.PositiveIntegerField(default=0)),
                    ('last_request', models.CharField(blank=True, max_length=64)),
                    ('last_reply', models.TextField(blank=True)),
                    ('opening', models.JSONField(default=list)),
                    ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='agents.agent')),
                ],
            ),
            migrations.CreateModel(
                name='Question',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('episode', models.CharField(max_length=64)),
                    ('turn', models.PositiveIntegerField()),
                    ('seat', models.PositiveSmallIntegerField(default=0)),
                    ('env_id', models.CharField(max_length=120)),
                    ('observation', models.TextField()),
                    ('info', models.JSONField(default=dict)),
                    ('past', models.JSONField(default=list)),
                    ('place', models.CharField(max_length=120)),
                    ('created', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ('awaited_until', models.DateTimeField()),
                    ('sent', models.DateTimeField(blank=True, null=True)),
                    ('sent_to', models.UUIDField(blank=True, null=True)),
                    ('answer', models.TextField(blank=True, db_default='', default='')),
                    ('extra', models.JSONField(default=dict)),
                    ('answered', models.DateTimeField(blank=True, null=True)),
                    ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='agents.agent')),
                ],
                options={
                    'indexes': [models.Index(fields=['awaited_until'], name='questions_by_wait')],
                    'constraints': [models.UniqueConstraint(fields=('agent', 'episode', 'turn', 'seat'), name='one_question_per_turn')],
                },
            ),
        ]),
    ]
