from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('seasons', '0001_seasons'),
    ]

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Season',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('benchmark', models.CharField(max_length=80)),
                ('version', models.PositiveIntegerField()),
                ('number', models.PositiveIntegerField()),
                ('sealed_key', models.TextField()),
                ('commitment', models.CharField(max_length=64)),
                ('published_key', models.CharField(blank=True, default='', max_length=64)),
                ('hidden', models.JSONField(default=dict)),
                ('submissions', models.PositiveIntegerField(default=0)),
                ('begins', models.DateTimeField()),
                ('ends', models.DateTimeField()),
                ('revealed_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['benchmark', '-version', '-number'],
                'constraints': [models.UniqueConstraint(fields=('benchmark', 'version', 'number'), name='one_season_per_number')],
            },
        ),
    ]
