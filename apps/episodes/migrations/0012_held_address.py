"""The address from which an action was sent that a seat holds."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("episodes", "0011_hidden_by_administrators")]

    operations = [
        migrations.AddField(
            model_name="seat",
            name="held_address",
            field=models.CharField(blank=True, db_default="", default="", max_length=32),
        ),
    ]
