import apps.episodes.models.ids
import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from apps.squashed import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('webhooks', '0001_initial'),
        ('webhooks', '0002_events_of_episodes_and_duels'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Webhook',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('url', models.CharField(max_length=500)),
                    ('events', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), size=None)),
                    ('sealed_secret', models.TextField()),
                    ('failures', models.PositiveIntegerField(default=0)),
                    ('disabled', models.DateTimeField(blank=True, null=True)),
                    ('why_disabled', models.TextField(blank=True)),
                    ('episodes_since', models.DateTimeField(blank=True, null=True)),
                    ('duels_since', models.DateTimeField(blank=True, null=True)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['created', 'pk'],
                },
            ),
            migrations.CreateModel(
                name='Place',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('topic', models.CharField(max_length=12)),
                    ('key', models.CharField(max_length=12)),
                    ('seq', models.PositiveIntegerField()),
                    ('is_over', models.BooleanField(default=False)),
                    ('read', models.DateTimeField(auto_now=True)),
                    ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='places', to='webhooks.webhook')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('webhook', 'topic', 'key'), name='one_place_per_row')],
                },
            ),
            migrations.CreateModel(
                name='Delivery',
                fields=[
                    ('lease_token', models.UUIDField(blank=True, null=True)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('attempt', models.PositiveSmallIntegerField(default=0)),
                    ('id', models.CharField(default=apps.episodes.models.ids.make_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                    ('event', models.CharField(max_length=40)),
                    ('topic', models.CharField(max_length=12)),
                    ('key', models.CharField(max_length=12)),
                    ('seq', models.PositiveIntegerField()),
                    ('body', models.TextField()),
                    ('state', models.CharField(choices=[('waiting', 'Waiting'), ('delivered', 'Delivered'), ('failed', 'Failed'), ('withheld', 'Withheld')], default='waiting', max_length=12)),
                    ('due', models.DateTimeField()),
                    ('status', models.PositiveSmallIntegerField(blank=True, null=True)),
                    ('answer', models.TextField(blank=True)),
                    ('seconds', models.FloatField(blank=True, null=True)),
                    ('tried', models.DateTimeField(blank=True, null=True)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='webhooks.webhook')),
                ],
                options={
                    'ordering': ['-created', '-pk'],
                    'indexes': [models.Index(fields=['webhook', '-created', 'id'], name='deliveries_by_time'), models.Index(condition=models.Q(('state', 'waiting')), fields=['webhook', 'due'], name='deliveries_due')],
                    'constraints': [models.UniqueConstraint(fields=('webhook', 'topic', 'key', 'seq'), name='one_delivery_per_event')],
                },
            ),
        ]),
    ]
