import django.db.models.deletion
from django.db import migrations, models

from apps.squashed import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('standings', '0001_initial'),
    ]

    initial = True

    dependencies = [
        ('agents', '0001_squashed'),
        ('episodes', '0001_squashed'),
        ('jobs', '0001_squashed'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Profile',
                fields=[
                    ('agent', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='profile', serialize=False, to='agents.agent')),
                    ('content', models.JSONField(default=dict)),
                    ('computed', models.DateTimeField(auto_now=True)),
                ],
            ),
            migrations.CreateModel(
                name='Summary',
                fields=[
                    ('name', models.CharField(max_length=160, primary_key=True, serialize=False)),
                    ('content', models.JSONField(default=dict)),
                    ('mark', models.CharField(blank=True, default='', max_length=200)),
                    ('computed', models.DateTimeField(auto_now=True)),
                ],
            ),
            migrations.CreateModel(
                name='Game',
                fields=[
                    ('episode', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='game', serialize=False, to='episodes.episode')),
                    ('env_id', models.CharField(max_length=120)),
                    ('result', models.CharField(choices=[('won', 'Won'), ('tied', 'Tied'), ('lost', 'Lost')], max_length=4)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('first', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='agents.agent')),
                    ('second', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='agents.agent')),
                ],
                options={
                    'indexes': [models.Index(fields=['created'], name='games_by_time')],
                },
            ),
            migrations.CreateModel(
                name='JobResult',
                fields=[
                    ('job', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='result', serialize=False, to='jobs.job')),
                    ('version', models.PositiveIntegerField(default=1)),
                    ('setting', models.CharField(blank=True, default='', max_length=200)),
                    ('environments', models.JSONField(default=list)),
                    ('games', models.JSONField(default=list)),
                    ('ended', models.DateTimeField()),
                    ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='results', to='agents.agent')),
                ],
                options={
                    'indexes': [models.Index(fields=['agent', '-ended'], name='results_of_agent'), models.Index(condition=models.Q(('games', []), _negated=True), fields=['job'], name='results_with_games')],
                },
            ),
        ]),
    ]
