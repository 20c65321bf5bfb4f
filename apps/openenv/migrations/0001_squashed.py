import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('openenv', '0001_unwritten_episodes'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='UnwrittenEpisode',
            fields=[
                ('id', models.CharField(max_length=12, primary_key=True, serialize=False)),
                ('env_id', models.CharField(max_length=120)),
                ('env_version', models.PositiveIntegerField()),
                ('data_hash', models.CharField(blank=True, max_length=64)),
                ('seed', models.BigIntegerField()),
                ('seat_count', models.PositiveSmallIntegerField(default=1)),
                ('holder', models.UUIDField()),
                ('leased_until', models.DateTimeField()),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['leased_until'], name='openenv_by_lease'), models.Index(fields=['holder'], name='openenv_by_holder')],
            },
        ),
    ]
