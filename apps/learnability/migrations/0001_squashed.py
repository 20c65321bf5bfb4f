import apps.episodes.models.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('learnability', '0001_probes'),
    ]

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Probe',
            fields=[
                ('lease_token', models.UUIDField(blank=True, null=True)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('attempt', models.PositiveSmallIntegerField(default=0)),
                ('person', models.CharField(blank=True, db_default='', default='', max_length=48)),
                ('address', models.CharField(blank=True, db_default='', default='', max_length=32)),
                ('id', models.CharField(default=apps.episodes.models.ids.make_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                ('env_id', models.CharField(max_length=200)),
                ('env_version', models.PositiveIntegerField()),
                ('rules', models.PositiveSmallIntegerField(default=1)),
                ('state', models.CharField(choices=[('waiting', 'being computed'), ('done', 'computed'), ('failed', 'ended early')], default='waiting', max_length=8)),
                ('sentence', models.TextField(blank=True, default='')),
                ('content', models.JSONField(default=dict)),
                ('seconds', models.FloatField(default=0.0)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('ended', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['created', 'pk'],
                'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['created'], name='probes_to_compute')],
                'constraints': [models.UniqueConstraint(fields=('env_id', 'env_version', 'rules'), name='one_probe_of_an_environment')],
            },
        ),
    ]
