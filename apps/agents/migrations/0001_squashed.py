import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from apps.squashed import CreateModels

AGENTS = [
    ("random", "random", 8, "Takes a valid action at random."),
    ("expert", "expert", 3, "A solver written for each environment. It uses only what the rules show."),
    ("human", "human", 2, "A person at this site."),
]
"""Those that everybody has: name, kind, colour and what is said about them."""


def add_built_in_agents(apps, schema_editor):
    agent_model = apps.get_model("agents", "Agent")
    agent_model.objects.bulk_create(
        agent_model(slug=name, name=name, kind=kind, colour=colour, about=about, visibility="public")
        for name, kind, colour, about in AGENTS
    )


class Migration(migrations.Migration):

    replaces = [
        ('agents', '0001_initial'),
        ('agents', '0002_built_in_agents'),
        ('agents', '0003_endpoint_agents'),
        ('agents', '0004_weights'),
        ('agents', '0005_uploaded_weights'),
        ('agents', '0006_uploads'),
        ('agents', '0007_visibility'),
        ('agents', '0008_hidden_by_administrators'),
        ('agents', '0009_what_agents_are'),
        ('agents', '0010_agents_from_elsewhere'),
        ('agents', '0011_agents_that_connect'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Agent',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('hidden_reason', models.TextField(blank=True, db_default='', default='')),
                    ('slug', models.SlugField(unique=True)),
                    ('name', models.CharField(max_length=80)),
                    ('kind', models.CharField(choices=[('human', 'Human'), ('random', 'Random'), ('expert', 'Expert'), ('endpoint', 'Endpoint'), ('checkpoint', 'Checkpoint'), ('remote', 'Remote'), ('outside', 'Outside')], max_length=12)),
                    ('about', models.TextField(blank=True)),
                    ('colour', models.PositiveSmallIntegerField()),
                    ('visibility', models.CharField(choices=[('public', 'public'), ('unlisted', 'unlisted'), ('private', 'private')], db_default='private', default='private', max_length=8)),
                    ('retired', models.BooleanField(db_default=False, default=False)),
                    ('listed', models.BooleanField(db_default=True, default=True)),
                    ('declared_nature', models.CharField(blank=True, choices=[('model', 'a language model'), ('program', 'a program'), ('person', 'a person')], db_default='', default='', max_length=8)),
                    ('parameters', models.PositiveBigIntegerField(blank=True, null=True)),
                    ('openness', models.CharField(blank=True, choices=[('', 'not stated'), ('open', 'open weights'), ('closed', 'closed weights')], db_default='', default='', max_length=8)),
                    ('plays_daily', models.BooleanField(db_default=False, default=False)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='agents', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['id'],
                },
            ),
            migrations.CreateModel(
                name='Endpoint',
                fields=[
                    ('agent', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='endpoint', serialize=False, to='agents.agent')),
                    ('spec', models.JSONField()),
                    ('version', models.PositiveIntegerField(default=1)),
                    ('sealed_key', models.TextField(blank=True)),
                    ('changed', models.DateTimeField(auto_now=True)),
                ],
            ),
            migrations.CreateModel(
                name='Weights',
                fields=[
                    ('agent', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='weights', serialize=False, to='agents.agent')),
                    ('folder', models.CharField(max_length=200)),
                    ('card', models.JSONField(default=dict)),
                    ('size', models.PositiveBigIntegerField(default=0)),
                    ('sha256', models.CharField(blank=True, max_length=64)),
                    ('uploaded', models.BooleanField(db_default=False, default=False)),
                ],
            ),
            migrations.CreateModel(
                name='Upload',
                fields=[
                    ('lease_token', models.UUIDField(blank=True, null=True)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('attempt', models.PositiveSmallIntegerField(default=0)),
                    ('slug', models.SlugField(primary_key=True, serialize=False)),
                    ('name', models.CharField(blank=True, max_length=80)),
                    ('visibility', models.CharField(choices=[('public', 'public'), ('unlisted', 'unlisted'), ('private', 'private')], db_default='private', default='private', max_length=8)),
                    ('problem', models.TextField(blank=True)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='uploads', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['-created'],
                },
            ),
        ]),
        migrations.RunPython(add_built_in_agents, migrations.RunPython.noop),
    ]
