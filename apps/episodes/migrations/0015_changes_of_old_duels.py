"""The changes of duels that were played before they were stored, in the order in which they happened."""

from django.db import migrations

STORE_CHANGES = """
INSERT INTO episodes_duelchange (duel_id, seq, kind, episode_id, number, at)
SELECT duel_id, row_number() OVER (PARTITION BY duel_id ORDER BY at, place, slot, number), kind, episode_id, number, at
FROM (
    SELECT duel.id AS duel_id, 0 AS place, 'joined' AS kind, side.id AS episode_id, 0 AS number, side.slot,
        side.created AS at
    FROM episodes_batch duel JOIN episodes_episode side ON side.batch_id = duel.id WHERE duel.kind = 'duel'
    UNION ALL
    SELECT duel.id, 1, 'turn', side.id, turn.number, side.slot, turn.created
    FROM episodes_batch duel JOIN episodes_episode side ON side.batch_id = duel.id
    JOIN episodes_turn turn ON turn.episode_id = side.id WHERE duel.kind = 'duel'
    UNION ALL
    SELECT duel.id, 2, 'ended', side.id, side.turn_count, side.slot, coalesce(side.ended, side.created)
    FROM episodes_batch duel JOIN episodes_episode side ON side.batch_id = duel.id
    WHERE duel.kind = 'duel' AND side.status <> 'running'
    UNION ALL
    SELECT duel.id, 3, 'over', NULL, count(*), 0, max(coalesce(side.ended, side.created))
    FROM episodes_batch duel JOIN episodes_episode side ON side.batch_id = duel.id
    WHERE duel.kind = 'duel' GROUP BY duel.id HAVING bool_and(side.status <> 'running')
) AS change;
UPDATE episodes_batch SET seq = greatest(seq, stored.last)
FROM (SELECT duel_id, max(seq) AS last FROM episodes_duelchange GROUP BY duel_id) AS stored
WHERE stored.duel_id = episodes_batch.id;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('episodes', '0014_duel_changes'),
    ]

    operations = [
        migrations.RunSQL(STORE_CHANGES, "DELETE FROM episodes_duelchange"),
    ]
