"""How episodes of jobs ended, and what they used. Rows from before have none of it."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('episodes', '0016_token_limit'),
    ]

    operations = [
        migrations.AddField('episode', 'ending_kind', models.CharField(blank=True, db_default='', default='', max_length=12)),
        migrations.AddField('episode', 'ending_text', models.CharField(blank=True, db_default='', default='', max_length=160)),
        migrations.AddField('episode', 'tokens_in', models.BigIntegerField(blank=True, null=True)),
        migrations.AddField('episode', 'tokens_out', models.BigIntegerField(blank=True, null=True)),
        migrations.AddField('episode', 'answer_seconds', models.FloatField(blank=True, null=True)),
        migrations.AddField('episode', 'unreadable', models.IntegerField(blank=True, null=True)),
        migrations.AddField('episode', 'forbidden', models.IntegerField(blank=True, null=True)),
    ]
