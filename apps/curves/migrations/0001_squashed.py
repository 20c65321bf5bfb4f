import apps.episodes.models.ids
import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from apps.squashed import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('curves', '0001_trainings_elsewhere'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='OutsideTraining',
                fields=[
                    ('hidden_reason', models.TextField(blank=True, db_default='', default='')),
                    ('id', models.CharField(default=apps.episodes.models.ids.make_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                    ('project', models.CharField(max_length=120)),
                    ('name', models.CharField(max_length=120)),
                    ('key', models.CharField(max_length=80)),
                    ('group', models.CharField(blank=True, default='', max_length=120)),
                    ('source', models.CharField(choices=[('trackio', 'trackio'), ('api', 'the API')], max_length=8)),
                    ('config', models.JSONField(default=dict)),
                    ('visibility', models.CharField(choices=[('public', 'public'), ('unlisted', 'unlisted'), ('private', 'private')], db_default='public', default='public', max_length=8)),
                    ('state', models.CharField(choices=[('running', 'running'), ('finished', 'finished'), ('crashed', 'crashed')], default='running', max_length=8)),
                    ('reason', models.TextField(blank=True, default='')),
                    ('colour', models.PositiveSmallIntegerField(default=1)),
                    ('seq', models.PositiveIntegerField(default=0)),
                    ('entries', models.PositiveIntegerField(default=0)),
                    ('thinned', models.PositiveIntegerField(default=0)),
                    ('width', models.PositiveBigIntegerField(default=1)),
                    ('size', models.PositiveBigIntegerField(default=0)),
                    ('first_step', models.BigIntegerField(default=0)),
                    ('last_step', models.BigIntegerField(blank=True, null=True)),
                    ('latest', models.JSONField(default=dict)),
                    ('transcripts', models.PositiveIntegerField(default=0)),
                    ('roles', models.JSONField(default=dict)),
                    ('notes', models.JSONField(default=dict)),
                    ('began', models.DateTimeField(blank=True, null=True)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('heard', models.DateTimeField()),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='outside_trainings', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['-created'],
                    'indexes': [models.Index(fields=['-created', 'id'], name='outside_by_time'), models.Index(fields=['owner', '-created'], name='outside_of_owner')],
                    'constraints': [models.UniqueConstraint(fields=('owner', 'project', 'key'), name='one_outside_training_per_key')],
                },
            ),
            migrations.CreateModel(
                name='Entry',
                fields=[
                    ('pk', models.CompositePrimaryKey('training_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('number', models.PositiveIntegerField()),
                    ('key', models.UUIDField()),
                    ('step', models.BigIntegerField()),
                    ('seconds', models.FloatField()),
                    ('data', models.JSONField()),
                    ('training', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='sent', to='curves.outsidetraining')),
                ],
                options={
                    'ordering': ['number'],
                    'constraints': [models.UniqueConstraint(fields=('training', 'key'), name='one_entry_per_key')],
                },
            ),
            migrations.CreateModel(
                name='Curve',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(blank=True, max_length=160)),
                    ('steps', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                    ('values', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), size=None)),
                    ('training', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='curves', to='curves.outsidetraining')),
                ],
                options={
                    'ordering': ['name'],
                    'constraints': [models.UniqueConstraint(fields=('training', 'name'), name='one_curve_per_metric')],
                },
            ),
            migrations.CreateModel(
                name='Transcript',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('key', models.UUIDField()),
                    ('kind', models.CharField(choices=[('trace', 'a conversation'), ('table', 'a table')], max_length=5)),
                    ('name', models.CharField(max_length=160)),
                    ('step', models.BigIntegerField()),
                    ('data', models.JSONField()),
                    ('training', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='kept', to='curves.outsidetraining')),
                ],
                options={
                    'ordering': ['step', 'pk'],
                    'indexes': [models.Index(fields=['training', 'step', 'id'], name='transcripts_by_step')],
                    'constraints': [models.UniqueConstraint(fields=('training', 'key'), name='one_transcript_per_key')],
                },
            ),
        ]),
    ]
