import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from apps.squashed import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('play', '0001_initial'),
        ('play', '0002_endpoint_agents'),
        ('play', '0003_duels'),
        ('play', '0004_shows_wait_in_line'),
        ('play', '0005_trials_and_people'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('episodes', '0001_squashed'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='GuestName',
                fields=[
                    ('visitor', models.CharField(max_length=32, primary_key=True, serialize=False)),
                    ('name', models.CharField(max_length=24)),
                    ('changed', models.DateTimeField(auto_now=True)),
                ],
            ),
            migrations.CreateModel(
                name='PendingTrial',
                fields=[
                    ('lease_token', models.UUIDField(blank=True, null=True)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('attempt', models.PositiveSmallIntegerField(default=0)),
                    ('person', models.CharField(blank=True, db_default='', default='', max_length=48)),
                    ('address', models.CharField(blank=True, db_default='', default='', max_length=32)),
                    ('episode', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='episodes.episode')),
                    ('program', models.TextField()),
                    ('created', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'abstract': False,
                },
            ),
            migrations.CreateModel(
                name='OpenInvitation',
                fields=[
                    ('episode', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='invitation', serialize=False, to='episodes.episode')),
                    ('env_id', models.CharField(max_length=120)),
                    ('number', models.PositiveSmallIntegerField()),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('seen', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'indexes': [models.Index(fields=['-seen'], name='invitations_by_time')],
                },
            ),
            migrations.CreateModel(
                name='Rematch',
                fields=[
                    ('after', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='rematch', serialize=False, to='episodes.episode')),
                    ('episode', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='episodes.episode')),
                ],
            ),
            migrations.CreateModel(
                name='Showcase',
                fields=[
                    ('key', models.CharField(default='main', max_length=20, primary_key=True, serialize=False)),
                    ('number', models.PositiveIntegerField(default=0)),
                    ('seq', models.PositiveIntegerField(default=0)),
                    ('episode', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='episodes.episode')),
                ],
            ),
            migrations.CreateModel(
                name='Show',
                fields=[
                    ('lease_token', models.UUIDField(blank=True, null=True)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('attempt', models.PositiveSmallIntegerField(default=0)),
                    ('person', models.CharField(blank=True, db_default='', default='', max_length=48)),
                    ('address', models.CharField(blank=True, db_default='', default='', max_length=32)),
                    ('episode', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='show', serialize=False, to='episodes.episode')),
                    ('pace', models.FloatField(default=1.0)),
                    ('paused', models.BooleanField(default=False)),
                    ('turns_due', models.PositiveIntegerField(default=0)),
                    ('lock_step', models.BooleanField(db_default=False, default=False)),
                    ('trouble', models.TextField(blank=True, db_default='', default='')),
                    ('next_turn_at', models.DateTimeField(blank=True, null=True)),
                    ('showcase', models.BooleanField(default=False)),
                    ('visitor', models.CharField(blank=True, max_length=32)),
                    ('started_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'indexes': [models.Index(fields=['lease_until'], name='play_show_lease_u_fc9889_idx')],
                },
            ),
        ]),
    ]
