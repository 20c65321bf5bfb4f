import apps.accounts.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from apps.squashed import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('accounts', '0001_initial'),
        ('accounts', '0002_drop_failed_logins'),
        ('accounts', '0003_default_visibility'),
        ('accounts', '0004_quotas_and_closed_accounts'),
        ('accounts', '0005_named_on_boards'),
        ('accounts', '0006_cpu_of_checks'),
    ]

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='User',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('password', models.CharField(max_length=128, verbose_name='password')),
                    ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                    ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                    ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                    ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                    ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                    ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                    ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                    ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                    ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                    ('default_visibility', models.CharField(choices=[('public', 'public'), ('unlisted', 'unlisted'), ('private', 'private')], db_default='public', default='public', max_length=8)),
                    ('agent_visibility', models.CharField(choices=[('public', 'public'), ('unlisted', 'unlisted'), ('private', 'private')], db_default='private', default='private', max_length=8)),
                    ('is_named', models.BooleanField(db_default=False, default=False)),
                    ('closed', models.DateTimeField(blank=True, null=True)),
                    ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                    ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
                ],
                options={
                    'verbose_name': 'user',
                    'verbose_name_plural': 'users',
                    'abstract': False,
                    'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('username'), name='one_person_per_name', violation_error_message='Somebody has this name already. Choose another one.')],
                },
                managers=[
                    ('objects', apps.accounts.models.PeopleManager()),
                ],
            ),
            migrations.CreateModel(
                name='CpuUse',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('day', models.DateField()),
                    ('use', models.CharField(choices=[('jobs', 'evaluations'), ('trainings', 'Trainings'), ('live', 'live episodes and slow turns'), ('checks', 'checks of what was sent')], max_length=12)),
                    ('seconds', models.FloatField()),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='cpu_uses', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'indexes': [models.Index(fields=['day'], name='cpu_use_by_day')],
                    'constraints': [models.UniqueConstraint(fields=('user', 'day', 'use'), name='one_row_per_day_and_use')],
                },
            ),
            migrations.CreateModel(
                name='QuotaOverride',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('quota', models.CharField(max_length=40)),
                    ('most', models.PositiveBigIntegerField(null=True)),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='quota_overrides', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('user', 'quota'), name='one_override_per_quota')],
                },
            ),
        ]),
    ]
