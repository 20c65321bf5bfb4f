import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from apps.squashed import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('benchmarks', '0001_benchmarks_of_people'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='OwnBenchmark',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('hidden_reason', models.TextField(blank=True, db_default='', default='')),
                    ('name', models.CharField(max_length=80, unique=True)),
                    ('visibility', models.CharField(choices=[('public', 'public'), ('unlisted', 'unlisted'), ('private', 'private')], db_default='private', default='private', max_length=8)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='benchmarks', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['name'],
                    'indexes': [models.Index(fields=['owner', '-created'], name='benchmarks__owner_i_a0fad5_idx')],
                },
            ),
            migrations.CreateModel(
                name='BenchmarkVersion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('number', models.PositiveIntegerField()),
                    ('document', models.JSONField()),
                    ('state', models.CharField(choices=[('checking', 'being checked'), ('ready', 'ready'), ('refused', 'refused')], default='checking', max_length=8)),
                    ('problems', models.JSONField(default=list)),
                    ('notes', models.JSONField(default=list)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('benchmark', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='benchmarks.ownbenchmark')),
                ],
                options={
                    'ordering': ['-number'],
                    'indexes': [models.Index(condition=models.Q(('state', 'checking')), fields=['created'], name='benchmarks_to_check')],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'refused'), _negated=True), fields=('benchmark', 'number'), name='one_benchmark_version')],
                },
            ),
        ]),
    ]
