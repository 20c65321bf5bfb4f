from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_named_on_boards'),
    ]

    operations = [
        migrations.AlterField(
            model_name='cpuuse',
            name='use',
            field=models.CharField(choices=[('jobs', 'evaluations'), ('trainings', 'Trainings'), ('live', 'live episodes and slow turns'), ('checks', 'checks of what was sent')], max_length=12),
        ),
    ]
