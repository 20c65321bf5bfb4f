import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from apps.squashed import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('api', '0001_tokens'),
        ('api', '0002_tokens_of_agents'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('agents', '0001_squashed'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='ApiToken',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=80)),
                    ('digest', models.CharField(max_length=64, unique=True)),
                    ('hint', models.CharField(max_length=12)),
                    ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'read what you can see, also what is private'), ('play', 'play, let agents play live, and start duels'), ('submit', 'submit and control evaluations and trainings'), ('answer', 'connect programs that act as remote agents of yours'), ('manage', 'add, change and delete agents, upload checkpoints, and change who may see what')], max_length=12), size=None)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('expires', models.DateTimeField(blank=True, null=True)),
                    ('last_used', models.DateTimeField(blank=True, null=True)),
                    ('agent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='agents.agent')),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['-created', '-pk'],
                },
            ),
            migrations.CreateModel(
                name='IdempotentRequest',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('key', models.CharField(max_length=80)),
                    ('digest', models.CharField(max_length=64)),
                    ('status', models.PositiveSmallIntegerField(blank=True, null=True)),
                    ('body', models.BinaryField(blank=True, null=True)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'indexes': [models.Index(fields=['created'], name='idempotent_requests_by_time')],
                    'constraints': [models.UniqueConstraint(fields=('user', 'key'), name='one_request_per_key')],
                },
            ),
        ]),
    ]
