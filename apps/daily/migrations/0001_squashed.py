import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('daily', '0001_initial'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('agents', '0001_squashed'),
        ('episodes', '0001_squashed'),
        ('seasons', '0001_squashed'),
    ]

    operations = [
        migrations.CreateModel(
            name='Try',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('solved', models.BooleanField(default=False)),
                ('turns', models.PositiveIntegerField(default=0)),
                ('score', models.FloatField(default=0.0)),
                ('tokens', models.PositiveBigIntegerField(blank=True, null=True)),
                ('begun', models.DateTimeField(auto_now_add=True)),
                ('ended', models.DateTimeField(blank=True, null=True)),
                ('agent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='daily_tries', to='agents.agent')),
                ('episode', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='daily_try', to='episodes.episode')),
                ('season', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='tries', to='seasons.season')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='daily_tries', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['season', '-solved', 'turns'], name='tries_by_result')],
                'constraints': [models.UniqueConstraint(fields=('season', 'user'), name='one_try_per_person_and_day'), models.UniqueConstraint(fields=('season', 'agent'), name='one_try_per_agent_and_day'), models.CheckConstraint(condition=models.Q(models.Q(('agent__isnull', False), ('user', None)), models.Q(('agent', None), ('user__isnull', False)), _connector='OR'), name='a_try_is_of_a_person_or_an_agent')],
            },
        ),
    ]
