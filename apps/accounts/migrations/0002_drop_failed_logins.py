"""Drop the tables in which an earlier version stored failed logins with names and addresses."""

from django.db import migrations

TABLES = ("axes_accessattemptexpiration", "axes_accessattempt", "axes_accesslog", "axes_accessfailurelog")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        *(migrations.RunSQL(f"DROP TABLE IF EXISTS {table}", migrations.RunSQL.noop) for table in TABLES),
        migrations.RunSQL("DELETE FROM django_migrations WHERE app = 'axes'", migrations.RunSQL.noop),
    ]
