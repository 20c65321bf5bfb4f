import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('leaderboard', '0006_challenges_and_reported_rows'),
    ]

    operations = [
        migrations.CreateModel(
            name='FirstPlace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('worst', models.PositiveIntegerField()),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('ranking', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='first_places', to='leaderboard.ranking')),
                ('score', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='first_places', to='leaderboard.score')),
            ],
            options={
                'ordering': ['-created', '-pk'],
                'indexes': [models.Index(fields=['-created', '-id'], name='newest_first_places')],
            },
        ),
    ]
