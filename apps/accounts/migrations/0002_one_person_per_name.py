import django.db.models.functions.text
from django.db import migrations, models

import apps.accounts.models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.AlterModelManagers(
            name="user",
            managers=[("objects", apps.accounts.models.PeopleManager())],
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(
                django.db.models.functions.text.Lower("username"),
                name="one_person_per_name",
                violation_error_message="Somebody has this name already. Choose another one.",
            ),
        ),
    ]
