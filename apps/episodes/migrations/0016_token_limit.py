
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('episodes', '0015_changes_of_old_duels'),
    ]

    operations = [
        migrations.AddField(
            model_name='episode',
            name='cut',
            field=models.CharField(blank=True, db_default='', default='', max_length=8),
        ),
    ]
