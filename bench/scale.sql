-- The rows of `python -m bench.scale`. Ids are digests of numbers, so that two runs have the same rows.
CREATE TEMPORARY TABLE env AS SELECT number - 1 AS number, env_id FROM unnest(ARRAY[
    'game:GuessTheNumber-v0-easy', 'game:GuessTheNumber-v0-hard', 'game:Mastermind-v0-easy', 'game:Mastermind-v0-hard',
    'game:Minesweeper-v0-easy', 'game:Minesweeper-v0-hard', 'game:Wordle-v0-easy', 'game:Wordle-v0-hard',
    'game:Hangman-v0-easy', 'game:Hangman-v0-hard', 'game:Sudoku-v0-easy', 'game:Sudoku-v0-hard',
    'game:TowerofHanoi-v0-easy', 'game:TowerofHanoi-v0-hard', 'game:Game2048-v0-easy', 'game:Game2048-v0-hard',
    'game:FifteenPuzzle-v0-easy', 'game:FifteenPuzzle-v0-hard', 'game:Sokoban-v0-easy', 'game:Sokoban-v0-hard'
]) WITH ORDINALITY AS listed (env_id, number);
CREATE TEMPORARY TABLE made_job AS
SELECT number, substr(md5('job' || number), 1, 12) AS id, substr(md5('batch' || number), 1, 12) AS batch_id,
       CASE WHEN number = 0 THEN %(large)s ELSE %(small)s END AS size,
       CASE WHEN number = 0 THEN 0 ELSE %(large)s + (number - 1) * %(small)s END AS first,
       now() - interval '30 days' + number * interval '30 days' / %(jobs)s AS created,
       (ARRAY['random', 'expert'])[number %% 2 + 1] AS slug
FROM generate_series(0, %(jobs)s - 1) AS number;
-- The newest twentieth is closed and has hidden seeds, as ranked jobs have while their season runs.
INSERT INTO episodes_batch (id, kind, seq, created, closed)
SELECT batch_id, 'job', 0, created, number > 0.95 * %(jobs)s FROM made_job;
INSERT INTO jobs_job (id, kind, name, spec, owner_id, agent_id, batch_id, state, reason, idempotency_key, seq,
                      episodes_total, episodes_done, turns_done, seconds_busy, seconds_agent, seconds_storing, latest,
                      created, started, ended, parent_update)
SELECT made_job.id, 'evaluation', '',
       jsonb_build_object('agent', slug, 'env_ids', (SELECT jsonb_agg(env_id ORDER BY number) FROM env),
                          'episodes_per_env', size / 20, 'seed', 0, 'num_envs', 16),
       (SELECT min(id) FROM accounts_user) + made_job.number %% 20, agents_agent.id, batch_id,
       CASE WHEN made_job.number %% 50 = 49 THEN 'failed' ELSE 'done' END, '', '', 1,
       size, size, 5 * size, size / 100.0, size / 200.0, size / 400.0, '{}', made_job.created, made_job.created,
       made_job.created + interval '5 minutes', 0
FROM made_job JOIN agents_agent USING (slug);
INSERT INTO jobs_jobevent (job_id, seq, kind, tone, text, slots) SELECT id, 1, 'ended', '', 'all done', '{}' FROM made_job;
INSERT INTO jobs_jobevent (job_id, seq, kind, tone, text, slots)
SELECT id, 2 + part, 'episodes', '', 'some episodes', ARRAY(SELECT generate_series(part * 100, part * 100 + 99))
FROM made_job CROSS JOIN LATERAL generate_series(0, size / 100 - 1) AS part;
INSERT INTO jobs_shard (job_id, number, env_id, first_slot, first_seed, count, done, won, limited, errors, turns,
                        return_sum, return_squares, seconds, state, reason, attempt)
SELECT id, part + 1, env_id, part * size / parts, 0, size / parts, size / parts, size / parts / 2, 0, 0, 5 * size / parts,
       size / parts / 2, size / parts / 2, 2, 'done', '', 1
FROM made_job CROSS JOIN LATERAL (SELECT greatest(size / %(shard)s / 20 * 20, 20) AS parts) AS whole
CROSS JOIN LATERAL generate_series(0, parts - 1) AS part JOIN env ON env.number = part * 20 / parts;
CREATE TEMPORARY TABLE filed_job AS
SELECT substr(md5('filed job' || number), 1, 12) AS id, substr(md5('filed batch' || number), 1, 12) AS batch_id, number,
       now() - interval '400 days' + number * interval '370 days' / %(filed)s AS created
FROM generate_series(0, %(filed)s - 1) AS number;
INSERT INTO episodes_batch (id, kind, seq, visibility, created)
SELECT id, 'job', 0, CASE WHEN number %% 7 > 0 THEN 'public' ELSE 'private' END, created
FROM (SELECT batch_id AS id, number, created FROM filed_job) AS made;
INSERT INTO jobs_job (id, kind, name, notes, tags, spec, owner_id, agent_id, batch_id, state, reason, idempotency_key,
                      seq, episodes_total, episodes_done, turns_done, seconds_busy, seconds_agent, seconds_storing,
                      latest, created, started, ended, archived, parent_update)
-- Names have hundreds of words, as real ones do: with fewer than a hundred Postgres guesses how many jobs a word finds.
SELECT filed_job.id, 'evaluation', 'number ' || number || ' word' || number %% 300 || CASE WHEN number %% 2 = 0 THEN ' often' ELSE '' END,
       CASE WHEN number %% 1000 = 0 THEN 'a rare one' ELSE '' END,
       CASE WHEN number %% 1000 = 1 THEN ARRAY['often', 'rare'] WHEN number %% 2 = 0 THEN ARRAY['often'] ELSE '{}' END,
       jsonb_build_object('agent', agents_agent.slug, 'env_ids', jsonb_build_array('game:GuessTheNumber-v0-easy'),
                          'episodes_per_env', 10, 'seed', 0, 'num_envs', 16),
       (SELECT min(id) FROM accounts_user) + number %% 20, agents_agent.id, batch_id,
       (ARRAY['done', 'done', 'done', 'failed', 'cancelled', 'stopped'])[1 + number %% 6], '', '', 1, 10, 10, 50, 1, 1, 1,
       '{}', filed_job.created, filed_job.created, filed_job.created + interval '5 minutes',
       CASE WHEN number %% 10 = 9 THEN filed_job.created END, 0
FROM filed_job JOIN agents_agent ON agents_agent.slug = CASE WHEN number %% 2 = 0 THEN 'expert' ELSE 'random' END;
CREATE TEMPORARY TABLE made_episode AS
SELECT substr(md5('episode' || first + slot), 1, 12) AS id, batch_id, slot::int, true AS of_job, env_id,
       slot %% greatest(size / 20, 1) AS seed, created + slot * interval '5 minutes' / size AS created, slug,
       NULL::bigint AS user_id, first + slot AS place
FROM made_job CROSS JOIN LATERAL generate_series(0, size - 1) AS slot JOIN env ON env.number = slot * 20 / size
UNION ALL
SELECT substr(md5('person' || place), 1, 12), NULL, NULL, false, env_id, place %% 1000,
       now() - interval '30 days' + place * interval '30 days' / %(people)s, 'human',
       (SELECT min(id) FROM accounts_user) + place %% 20, place
FROM generate_series(0, %(people)s - 1) AS place JOIN env ON env.number = place %% 20;
INSERT INTO episodes_episode (id, batch_id, slot, of_job, env_id, env_version, env_kwargs, data_hash, wrappers, seed,
                              engine_version, python_version, status, terminated, truncated, success, failure,
                              failed_by, first_observation, first_info, turn_count, max_turns, seat_count, acting,
                              scored_seat, seq, visibility, created, ended)
SELECT id, batch_id, slot, of_job, env_id, 1, '{}', '', '[]',
       CASE WHEN batch_id IN (SELECT id FROM episodes_batch WHERE closed) THEN seed - (1::bigint << 40) ELSE seed END, '0.1.0', '3.11', status, status = 'ended' AND won <> 2,
       status = 'ended' AND won = 2, CASE WHEN status = 'ended' THEN won = 0 END,
       CASE WHEN status = 'failed' THEN 'an error of the environment' ELSE '' END, '', 'The first observation.', '{}', 0,
       10, 1, 0, 0, 0, CASE WHEN of_job OR place %% 10 > 0 THEN 'public' ELSE 'unlisted' END, created,
       CASE WHEN status <> 'running' THEN created END
FROM (SELECT *, place %% 3 AS won,
             CASE WHEN place %% 20011 = 17 THEN 'failed' WHEN of_job THEN 'ended' WHEN place %% 100 = 3 THEN 'running'
                  WHEN place %% 40 = 7 THEN 'abandoned' ELSE 'ended' END AS status FROM made_episode) AS drawn;
INSERT INTO episodes_seat (episode_id, number, agent_id, user_id, visitor, total_reward, success, held)
SELECT made_episode.id, 0, agents_agent.id, user_id, '', place %% 3 / 2.0, place %% 3 = 0, ''
FROM made_episode JOIN agents_agent USING (slug);
INSERT INTO episodes_turn (episode_id, number, seat, action, observation, reward, info, seq, created)
SELECT id, 1, 0, 'an action', 'an observation', 0, '{}', 1, created FROM made_episode
WHERE NOT of_job
