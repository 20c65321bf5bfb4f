"""The table of the addresses of the API: what each needs, and its answers to each role and each scope of a token."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client

from tests.apps.site.roles import ENV_ID, Address

READ, PLAY, SUBMIT, MANAGE = "read", "play", "submit", "manage"
PRIVATE = {"visibility": "private"}


@dataclass(frozen=True, slots=True)
class ApiAddress(Address):
    """One operation of the API; `post` is true for every change."""

    method: str = "GET"
    body: Any = None
    """What is sent as JSON."""
    scope: str = ""
    """The scope that a token needs; empty if guests get an answer too."""

    def ask(self, client: Client, path: str, **headers: str) -> Any:
        """Send the request, and return the response."""
        body = "" if self.body is None else json.dumps(self.body)
        return client.generic(self.method, path, body, content_type="application/json", headers=headers)

    def status(self, role: str, visibility: str = "unlisted") -> int:
        """What this role is answered. Guests are asked for a token before anything is looked up."""
        return 401 if self.scope and role == "nobody" else Address.status(self, role, visibility)


def get(answers: str, *names: str, scope: str = "") -> ApiAddress:
    """An operation that reads."""
    return ApiAddress(answers, names, scope=scope)


def change(method: str, answers: str, *names: str, scope: str, body: Any = None) -> ApiAddress:
    """An operation that changes something."""
    return ApiAddress(answers, names, post=True, method=method, body=body, scope=scope)


API_TABLE: dict[str, Address] = {
    "api:openapi-json": get("200"),
    "api:api-root": get("404"),
    "api:who_am_i": get("401 200 200 200", scope=READ),
    "api:list_quotas": get("401 200 200 200", scope=READ),
    "api:list_tokens": get("401 200 200 200", scope=READ),
    "api:revoke_this_token": change("DELETE", "401 204 204 204", scope=READ),
    "api:set_default_visibility": change("PUT", "401 200 200 200", scope=MANAGE, body={"agent_visibility": "private"}),
    "api:export_account": get("401 200 200 200", scope=READ),
    "api:list_webhooks": get("401 200 200 200", scope=READ),
    "api:create_webhook": change("POST", "401 201 201 201", scope=MANAGE, body={"url": "https://example.org/hook"}),
    "api:get_webhook": get("401 404 200 404", "webhook", scope=READ),
    "api:change_webhook": change("PATCH", "401 404 200 404", "webhook", scope=MANAGE, body={"on": False}),
    "api:delete_webhook": change("DELETE", "401 404 204 404", "webhook", scope=MANAGE),
    "api:send_test": change("POST", "401 404 201 404", "webhook", scope=MANAGE),
    "api:list_deliveries": get("401 404 200 404", "webhook", scope=READ),
    "api:get_delivery": get("401 404 200 404", "webhook", "delivery", scope=READ),
    "api:send_delivery_again": change("POST", "401 404 200 404", "webhook", "delivery", scope=MANAGE),
    "api:report_content": change(
        "POST", "401 204 204 204", "content", "episode", scope=MANAGE, body={"reason": "It shows a secret."}
    ),
    "api:list_environments": get("200"),
    "api:get_environment": get("200", "env_id"),
    "api:list_variants": get("200", "env_id"),
    "api:list_outside_trainings": get("200"),
    "api:begin_outside_training": change(
        "POST", "401 201 201 201", scope=SUBMIT, body={"project": "wordle", "key": "another"}
    ),
    "api:get_outside_training": get("200", "outside"),
    "api:delete_outside_training": change("DELETE", "401 403 204 403", "outside", scope=MANAGE),
    "api:log_entries": change(
        "POST", "401 403 200 403", "outside", scope=SUBMIT, body={"entries": [{"metrics": {"reward": 1.0}}]}
    ),
    "api:end_outside_training": change("POST", "401 403 200 403", "outside", scope=SUBMIT, body={"state": "finished"}),
    "api:get_points": get("200", "outside"),
    "api:list_studies": get("200"),
    "api:start_study": change("POST", "401 201 201 201", scope=SUBMIT, body={"study": "gamma"}),
    "api:estimate_study": change("POST", "401 200 200 200", scope=SUBMIT, body={"study": "gamma"}),
    "api:get_study": get("200", "started"),
    "api:delete_study": change("DELETE", "401 403 204 403", "started", scope=MANAGE),
    "api:list_study_runs": get("200", "started"),
    "api:download_study_results": get("200", "started"),
    "api:pause_study": change("POST", "401 403 422 422", "started", scope=SUBMIT),
    "api:resume_study": change("POST", "401 403 200 200", "started", scope=SUBMIT),
    "api:cancel_study": change("POST", "401 403 422 422", "started", scope=SUBMIT),
    "api:list_reported_evaluations": get("200"),
    "api:report_evaluation": change("POST", "401 422 422 422", scope=MANAGE),
    "api:get_reported_evaluation": get("200", "reported_evaluation"),
    "api:delete_reported_evaluation": change("DELETE", "401 403 204 403", "reported_evaluation", scope=MANAGE),
    "api:list_reported_episodes": get("200", "reported_evaluation"),
    "api:list_agents": get("200"),
    "api:create_agent": change(
        "POST",
        "401 201 201 201",
        scope=MANAGE,
        body={"name": "qwen", "spec": {"url": "http://127.0.0.1:1/v1", "model": "m"}},
    ),
    "api:try_endpoint": change(
        "POST", "401 200 200 200", scope=MANAGE, body={"spec": {"url": "http://127.0.0.1:1/v1", "model": "m"}}
    ),
    "api:add_remote": change("POST", "401 201 201 201", scope=MANAGE, body={"name": "laptop"}),
    "api:get_remote": get("401 404 200 404", "remote", scope=READ),
    "api:begin_chat": change("POST", "401 404 201 404", "remote", scope=PLAY, body={"env_id": ENV_ID}),
    "api:get_agent": get("200", "agent"),
    "api:change_agent": change("PATCH", "401 404 200 404", "agent", scope=MANAGE, body={"name": "another"}),
    "api:delete_agent": change("DELETE", "401 404 204 404", "agent", scope=MANAGE),
    "api:set_visibility_of_agent": change("PUT", "401 403 200 403", "agent", scope=MANAGE, body=PRIVATE),
    "api:get_profile": get("200", "agent"),
    "api:declare_facts": change("PUT", "401 403 200 403", "agent", scope=MANAGE, body={"plays_daily": True}),
    "api:get_ratings": get("200"),
    "api:get_daily_seed": get("200"),
    "api:get_daily_seed_of": get("200", "day"),
    "api:play_daily_seed": change("POST", "401 201 201 201", scope=PLAY),
    "api:list_people": get("200", "benchmark"),
    "api:download_weights": get("200", "policy"),
    "api:list_uploads": get("401 200 200 200", scope=READ),
    "api:upload_checkpoint": change("POST", "401 422 422 422", scope=MANAGE),
    "api:get_upload": get("401 404 200 404", "upload", scope=READ),
    "api:list_episodes": get("200"),
    "api:get_credit": get("409", "episode"),
    "api:measure_truth": change("POST", "401 409 409 409", "episode", scope=PLAY, body={"agent": "random"}),
    "api:get_truth": get("409", "episode", "one"),
    "api:stop_truth": change("DELETE", "401 404 404 404", "episode", "one", scope=PLAY),
    "api:get_forks": get("200", "episode"),
    "api:continue_episode": change(
        "POST", "401 201 201 201", "episode", scope=PLAY, body={"turn": 0, "agent": "random", "count": 2}
    ),
    "api:export_forks": get("200", "episode"),
    "api:begin_episode": change("POST", "401 201 201 201", scope=PLAY, body={"env_id": ENV_ID}),
    "api:get_episode": get("200", "episode"),
    "api:list_turns": get("200", "episode"),
    "api:stream_turns": get("200", "episode"),
    "api:follow_episode": get("200", "episode"),
    "api:follow_duel": get("200", "duel"),
    "api:follow_job": get("200", "job"),
    "api:follow_training": get("200", "training"),
    "api:get_turn": get("200", "episode", "one"),
    "api:get_record": get("200", "episode"),
    "api:get_record_in_lines": get("200", "episode"),
    "api:verify_episode": change("POST", "200", "episode", scope=""),
    "api:get_verdict": get("200", "episode"),
    "api:set_visibility_of_episode": change("PUT", "401 403 200 403", "episode", scope=MANAGE, body=PRIVATE),
    "api:take_turn": change(
        "POST",
        "401 403 201 403",
        "episode",
        scope=PLAY,
        body={"action": "\\boxed{2}", "expected_seq": 1},
    ),
    "api:join_episode": change("POST", "401 200 409 200", "invitation", "one", "seat_token", scope=PLAY),
    "api:undo_turn": change("POST", "401 403 201 403", "episode", scope=PLAY),
    "api:fork_episode": change("POST", "401 201 201 201", "episode", scope=PLAY, body={"turn": 0}),
    "api:finish_episode": change("POST", "401 201 201 201", "episode", scope=PLAY, body={}),
    "api:abandon_episode": change("POST", "401 403 200 403", "episode", scope=PLAY),
    "api:ask_for_hint": change("POST", "401 200 200 200", "episode", scope=PLAY),
    "api:start_show": change("POST", "401 201 201 201", scope=PLAY, body={"env_id": ENV_ID, "agent": "random"}),
    "api:control_show": change("POST", "401 403 200 200", "show", scope=PLAY, body={"do": "pause"}),
    "api:take_seat": change("POST", "401 403 200 200", "show", scope=PLAY, body={}),
    "api:leave_note": change("POST", "401 403 403 403", "show", scope=PLAY, body={"text": "Look left."}),
    "api:hand_back": change("POST", "401 403 403 403", "show", scope=PLAY, body={}),
    "api:start_duel": change(
        "POST", "401 201 201 201", scope=PLAY, body={"env_id": ENV_ID, "agents": ["expert", "random"]}
    ),
    "api:get_duel": get("200", "duel"),
    "api:add_to_duel": change("POST", "401 403 201 201", "duel", scope=PLAY, body={"agent": "random"}),
    "api:control_duel": change("POST", "401 403 200 200", "duel", scope=PLAY, body={"do": "lock-step"}),
    "api:set_visibility_of_duel": change("PUT", "401 403 200 403", "duel", scope=MANAGE, body=PRIVATE),
    "api:list_jobs": get("200"),
    "api:submit_evaluation": change(
        "POST",
        "401 201 201 201",
        scope=SUBMIT,
        body={"spec": {"agent": "random", "env_ids": [ENV_ID], "episodes_per_env": 2}},
    ),
    "api:tell_power": change(
        "POST", "401 200 200 200", scope=READ, body={"agent": "random", "env_ids": [ENV_ID], "episodes_per_env": 20}
    ),
    "api:get_job": get("200", "job"),
    "api:get_results": get("200", "job"),
    "api:list_episodes_of_job": get("200", "job"),
    "api:export_episodes_of_job": get("200", "job"),
    "api:get_analysis": get("200", "job"),
    "api:list_seeds": get("200", "job"),
    "api:describe_exports": get("200", "job"),
    "api:export_table": get("200", "job", "table", "format"),
    "api:describe_job": change("PATCH", "401 403 200 403", "job", scope=MANAGE, body={"name": "another"}),
    "api:delete_job": change("DELETE", "401 403 422 403", "job", scope=MANAGE),
    "api:list_log_of_job": get("200", "job"),
    "api:cancel_job": change("POST", "401 403 200 200", "job", scope=SUBMIT),
    "api:resume_evaluation": change("POST", "401 403 200 200", "job", scope=SUBMIT),
    "api:pause_evaluation": change("POST", "401 403 200 200", "job", scope=SUBMIT),
    "api:set_pace_of_evaluation": change("POST", "401 403 200 200", "job", scope=SUBMIT, body={"num_envs": 2}),
    "api:take_seat_in_evaluation": change("POST", "401 403 200 200", "job", "one", scope=SUBMIT),
    "api:cancel_episode_of_evaluation": change(
        "POST", "401 403 200 200", "job", "one", scope=SUBMIT, body={"counts": True}
    ),
    "api:requeue_episode_of_evaluation": change("POST", "401 403 422 422", "job", "one", scope=SUBMIT),
    "api:retry_evaluation": change("POST", "401 403 422 422", "job", scope=SUBMIT, body={}),
    "api:skip_environment": change("POST", "401 403 422 422", "job", scope=SUBMIT, body={"env_id": ENV_ID}),
    "api:bring_back_environment": change("POST", "401 403 422 422", "job", scope=SUBMIT, body={"env_id": ENV_ID}),
    "api:download_log_of_job": get("200", "job"),
    "api:resubmit_evaluation": change("POST", "401 201 201 201", "job", scope=SUBMIT),
    "api:set_visibility_of_job": change("PUT", "401 403 200 403", "job", scope=MANAGE, body=PRIVATE),
    "api:list_trainings": get("200"),
    "api:submit_training": change("POST", "401 201 201 201", scope=SUBMIT, body={"spec": {"env_id": ENV_ID}}),
    "api:get_training": get("200", "training"),
    "api:get_metrics": get("200", "training"),
    "api:list_checkpoints": get("200", "training"),
    "api:download_checkpoint": get("200", "training", "one"),
    "api:download_log": get("401 403 200 200", "training", scope=READ),
    "api:pause_training": change("POST", "401 403 200 200", "training", scope=SUBMIT),
    "api:resume_training": change("POST", "401 403 422 422", "training", scope=SUBMIT),
    "api:extend_training": change("POST", "401 403 200 200", "training", scope=SUBMIT, body={"updates": 1}),
    "api:cancel_training": change("POST", "401 403 200 200", "training", scope=SUBMIT),
    "api:evaluate_best_checkpoint": change("POST", "401 403 200 200", "training", scope=SUBMIT),
    "api:list_benchmarks": get("200"),
    "api:get_benchmark": get("200", "benchmark"),
    "api:list_seasons": get("200", "benchmark"),
    "api:get_leaderboard": get("200", "benchmark"),
    "api:play_ranked_seed": change("POST", "401 201 201 201", "benchmark", scope=PLAY, body={}),
    "api:add_benchmark": change("POST", "401 422 422 422", scope=MANAGE, body={"document": {}}),
    "api:get_own_benchmark": get("200", "own_benchmark"),
    "api:set_benchmark_visibility": change(
        "PUT", "401 404 200 404", "own_benchmark", scope=MANAGE, body={"visibility": "public"}
    ),
    "api:delete_benchmark": change("DELETE", "401 404 204 404", "own_benchmark", scope=MANAGE),
    "api:draw_challenge": change(
        "POST", "401 422 422 422", "benchmark", scope=SUBMIT, body={"agent": "mine", "kind": "model"}
    ),
    "api:list_challenges": get("401 200 200 200", scope=READ),
    "api:push_episodes": change("POST", "401 422 422 422", scope=MANAGE),
    "api:get_challenge": get("401 404 200 404", "challenge", scope=READ),
    "api:get_challenge_document": get("401 404 200 404", "challenge", scope=READ),
    "api:report_row": change(
        "POST", "401 422 422 422", "benchmark", scope=SUBMIT, body={"agent": "", "kind": "model", "environments": []}
    ),
    "api:list_reported_rows": get("200", "benchmark"),
    "api:get_reported_row": get("200", "reported"),
    "api:delete_reported_row": change("DELETE", "401 404 204 404", "reported", scope=MANAGE),
    "api:get_row": get("200", "score"),
    "api:get_proof": get("200", "score"),
    "api:get_digests": get("404", "score"),
    "api:export_episodes_of_row": get("404", "score"),
}
