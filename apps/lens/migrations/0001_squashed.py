import apps.episodes.models.ids
import django.db.models.deletion
from django.db import migrations, models

from apps.squashed import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('lens', '0001_truths'),
    ]

    initial = True

    dependencies = [
        ('agents', '0001_squashed'),
        ('episodes', '0001_squashed'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Truth',
                fields=[
                    ('lease_token', models.UUIDField(blank=True, null=True)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('attempt', models.PositiveSmallIntegerField(default=0)),
                    ('person', models.CharField(blank=True, db_default='', default='', max_length=48)),
                    ('address', models.CharField(blank=True, db_default='', default='', max_length=32)),
                    ('id', models.CharField(default=apps.episodes.models.ids.make_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                    ('count', models.PositiveSmallIntegerField()),
                    ('first', models.PositiveIntegerField()),
                    ('last', models.PositiveIntegerField()),
                    ('state', models.CharField(choices=[('waiting', 'being computed'), ('done', 'computed'), ('stopped', 'stopped'), ('failed', 'ended early')], default='waiting', max_length=8)),
                    ('sentence', models.TextField(blank=True, default='')),
                    ('seconds', models.FloatField(default=0.0)),
                    ('rewards', models.PositiveIntegerField(default=0)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('ended', models.DateTimeField(blank=True, null=True)),
                    ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='agents.agent')),
                    ('episode', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='truths', to='episodes.episode')),
                ],
                options={
                    'ordering': ['created', 'id'],
                    'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['created'], name='truths_to_compute')],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ('waiting', 'done'))), fields=('episode', 'agent', 'count', 'first', 'last'), name='one_truth_of_a_kind')],
                },
            ),
            migrations.CreateModel(
                name='TurnTruth',
                fields=[
                    ('pk', models.CompositePrimaryKey('truth_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('number', models.PositiveIntegerField()),
                    ('taken', models.JSONField()),
                    ('anew', models.JSONField()),
                    ('failed', models.PositiveIntegerField(default=0)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('truth', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='turns', to='lens.truth')),
                ],
                options={
                    'ordering': ['number'],
                },
            ),
        ]),
    ]
