"""What the texts of old events say, as data: the numbers of updates and checkpoints, and how jobs ended."""

from django.db import migrations

READ_TEXTS = r"""
UPDATE jobs_jobevent
SET data = jsonb_build_object(
    'updates', jsonb_build_array(replace(substring(text FROM '^update ([0-9,]+):'), ',', '')::bigint)
)
WHERE kind = 'updates' AND text ~ '^update [0-9,]+:';
UPDATE jobs_jobevent AS event
SET data = jsonb_build_object('update', checkpoint.update, 'agent', agent.slug)
FROM jobs_checkpoint checkpoint JOIN agents_agent agent ON agent.id = checkpoint.agent_id
WHERE event.kind = 'checkpoint' AND checkpoint.job_id = event.job_id
    AND replace(substring(event.text FROM '^checkpoint after update ([0-9,]+)$'), ',', '')::bigint = checkpoint.update;
UPDATE jobs_jobevent AS event
SET data = jsonb_build_object('state', job.state)
FROM jobs_job job
WHERE event.kind = 'ended' AND job.id = event.job_id AND job.state IN ('done', 'cancelled', 'failed')
    AND NOT EXISTS (
        SELECT 1 FROM jobs_jobevent later
        WHERE later.job_id = event.job_id AND later.kind = 'ended' AND later.seq > event.seq
    );
"""


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0009_event_data'),
        ('agents', '0008_hidden_by_administrators'),
    ]

    operations = [
        migrations.RunSQL(READ_TEXTS, migrations.RunSQL.noop),
    ]
