import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from apps.squashed import CreateModels

APPEND_ONLY = """
CREATE FUNCTION moderation_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The log of decisions is append-only.';
END
$$;
CREATE TRIGGER decisions_are_append_only BEFORE UPDATE OR DELETE ON moderation_decision
FOR EACH ROW EXECUTE FUNCTION moderation_refuse_change();
"""


class Migration(migrations.Migration):

    replaces = [
        ('moderation', '0001_initial'),
        ('moderation', '0002_decisions_about_rows'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Decision',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('verb', models.CharField(choices=[('hide', 'hidden'), ('show', 'shown again'), ('dismiss', 'report dismissed'), ('flag', 'flagged'), ('withdraw', 'withdrawn'), ('restore', 'restored')], max_length=8)),
                    ('kind', models.CharField(max_length=20)),
                    ('key', models.CharField(max_length=60)),
                    ('reason', models.TextField(blank=True)),
                    ('by', models.CharField(max_length=150)),
                    ('at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['-at', '-pk'],
                },
            ),
            migrations.CreateModel(
                name='Report',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('kind', models.CharField(max_length=20)),
                    ('key', models.CharField(max_length=60)),
                    ('reason', models.TextField()),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('closed', models.DateTimeField(blank=True, null=True)),
                    ('reporter', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['-created'],
                    'indexes': [models.Index(condition=models.Q(('closed', None)), fields=['-created'], name='open_reports')],
                },
            ),
        ]),
        migrations.RunSQL(APPEND_ONLY, migrations.RunSQL.noop),
    ]
