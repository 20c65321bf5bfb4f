from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('episodes', '0005_duels'),
    ]

    operations = [
        migrations.AddField(
            model_name='seat',
            name='advised',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
