import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('admission', '0001_parties'),
        ('admission', '0002_seconds_spent'),
    ]

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Party',
            fields=[
                ('pk', models.CompositePrimaryKey('line', 'name', blank=True, editable=False, primary_key=True, serialize=False)),
                ('line', models.CharField(max_length=12)),
                ('name', models.CharField(max_length=48)),
                ('served', models.DateTimeField()),
                ('spent', models.FloatField(db_default=0, default=0)),
                ('spent_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'indexes': [models.Index(fields=['served'], name='admission_p_served_0659a8_idx')],
            },
        ),
    ]
