"""Rows of verifiers: what its upload sends, and what `results.jsonl` and `traces.jsonl` hold."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from gem.transcripts.transcript import Transcript, extra_of, messages_of

EXTRAS = (
    "metrics", "token_usage", "timing", "stop_condition", "is_truncated", "is_completed", "answer", "rollout_number",
    "agent",
)  # fmt: skip


def of_sample(sample: Mapping[str, Any], env_id: str = "") -> Transcript:
    """A row as a transcript: its prompt and completion, or the messages of its last branch."""
    trajectory = sample.get("trajectory")
    branch = trajectory[-1].get("messages") if isinstance(trajectory, list) and _is_objects(trajectory) else None
    said = [*_said(sample.get("prompt"), "user"), *_said(sample.get("completion") or branch, "assistant")]
    messages, left_out = messages_of(said or _said(sample.get("messages"), "user"))
    error = sample.get("error")
    return Transcript(
        key=str(sample.get("sample_id") or sample.get("id") or digest_of(sample))[:120],
        example=str(sample.get("example_id", ""))[:120],
        env_id=str(sample.get("env_id") or sample.get("task_name") or env_id)[:120],
        messages=messages,
        left_out=left_out,
        reward=number_of(sample.get("reward")),
        solved=sample["success"] if isinstance(sample.get("success"), bool) else None,
        error=error if isinstance(error, str) else json.dumps(error, default=str) if error else "",
        extra=extra_of({name: sample.get(name) for name in EXTRAS}),
    )


def number_of(value: Any) -> float | None:
    """A finite number, or None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return float(value) if is_number and math.isfinite(value) else None
    except OverflowError:
        return None


def digest_of(value: Any) -> str:
    """The same for equal rows."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()


def _said(value: Any, role: str) -> list[Any]:
    if isinstance(value, str):
        return [{"role": role, "content": value}] if value else []
    return value if isinstance(value, list) else []


def _is_objects(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(value, Mapping) for value in values)
