"""An environment of ours as a client of OpenEnv plays it: one episode after the other, in this process."""

from __future__ import annotations

import secrets
from typing import Any

import gem.seats
from gem.core import Env
from gem.errors import EnvironmentFailure, EpisodeOver, GemError, InvalidArgument
from gem.openenv.wire import Observation, Reset, WireError
from gem.records import EpisodeRecord, Identity, TurnRecord
from gem.validation.values import check_step

NOT_BEGUN = "There is no episode yet: send a reset first."
OVER = "The episode is over: send a reset to begin another one."
MAX_ACTION_BYTES = 64 * 1024
"""The same as on the site (`apps.episodes.text`)."""


class Session:
    """Plays an environment; the caller sees to it that only one call is under way.

    Errors of the client raise `WireError` and change nothing. If the environment fails, the episode is over.
    """

    def __init__(self, env_id: str, env: Env) -> None:
        self.env_id = env_id
        self.env = env
        self.episode_id = ""
        self.seed: int | None = None
        self.step_count = 0
        self.total_reward = 0.0
        """The sum of the rewards of the first seat."""
        self.is_over = True
        self.failure = ""
        """Why the environment failed in this episode; empty if it did not."""
        self.keeps_record = False
        """Whether the next episodes are kept as a record."""
        self.record: EpisodeRecord | None = None
        """The record of this episode, if it is kept."""

    def reset(self, request: Reset) -> Observation:
        """Begin an episode; one that is under way is given up.

        Raises:
            WireError: if the environment cannot begin one.
        """
        self.is_over, self.record = True, None
        try:
            text, info = self.env.reset(seed=request.seed)
        except InvalidArgument as error:
            raise WireError("VALIDATION_ERROR", str(error)) from error
        except (GemError, ImportError) as error:
            raise WireError("EXECUTION_ERROR", f"The environment cannot begin an episode: {error}") from error
        self.episode_id = request.named(secrets.token_hex(8))
        self.seed = self.env.unwrapped.seed
        self.step_count, self.total_reward, self.is_over, self.failure = 0, 0.0, False, ""
        if self.keeps_record:
            self.record = EpisodeRecord(0, self._identity(), text, info, max_turns=self.env.max_turns)
        return self._observation(text, info, None)

    def step(self, action: str) -> Observation:
        """Take a turn.

        Raises:
            WireError: if there is no episode under way, the action is too long, or the environment fails.
        """
        if self.is_over:
            raise WireError("EXECUTION_ERROR", OVER if self.episode_id else NOT_BEGUN)
        if len(action) > MAX_ACTION_BYTES:
            raise WireError("VALIDATION_ERROR", f"An action can have at most {MAX_ACTION_BYTES // 1024} KiB.")
        seat = self.env.to_act[0]
        try:
            text, reward, terminated, truncated, info = check_step(self.env.step(action))
        except EpisodeOver as error:
            raise WireError("EXECUTION_ERROR", str(error)) from error
        except (EnvironmentFailure, GemError) as error:
            self.fail(str(error))
            raise WireError("EXECUTION_ERROR", f"The environment failed, and the episode is over: {error}") from error
        self.step_count += 1
        self.total_reward += gem.seats.rewards(reward, info)[0]
        self.is_over = terminated or truncated
        if self.record is not None:
            self._note(TurnRecord(action, text, reward, info, seat), terminated=terminated, truncated=truncated)
        return self._observation(text, info, reward, terminated=terminated, truncated=truncated)

    def fail(self, reason: str) -> None:
        """End the episode, because its environment failed."""
        self.is_over, self.failure = True, reason
        if self.record is not None:
            self.record.failure, self.record.failed_by = reason, "environment"

    def state(self) -> dict[str, Any]:
        """The state of the episode, without anything that an agent may not know."""
        return {
            "episode_id": self.episode_id or None,
            "step_count": self.step_count,
            "env_id": self.env_id,
            "seed": self.seed,
            "done": self.is_over and bool(self.episode_id),
            "total_reward": self.total_reward,
            "max_turns": self.env.max_turns,
        }

    def close(self) -> None:
        """Release the environment."""
        self.is_over = True
        self.env.close()

    def _identity(self) -> Identity:
        spec, env = self.env.spec, self.env.unwrapped
        assert spec is not None
        assert self.seed is not None
        return Identity(self.env_id, spec.version, self.seed, env.env_kwargs, env.data_hash)

    def _note(self, turn: TurnRecord, *, terminated: bool, truncated: bool) -> None:
        """Add a turn to the record."""
        assert self.record is not None
        self.record.turns.append(turn)
        self.record.terminated, self.record.truncated = terminated, truncated
        if self.is_over:
            self.record.success = gem.seats.success(0, turn.info)

    def _observation(
        self,
        text: str,
        info: dict[str, Any],
        reward: float | None,
        *,
        terminated: bool = False,
        truncated: bool = False,
    ) -> Observation:
        to_act = self.env.to_act
        if "seats" in info:
            text, own = gem.seats.observation_for_seat(to_act[0] if to_act else 0, text, info)
            info = {**own, "seats": info["seats"]}
        assert self.seed is not None
        return Observation(text, info, reward, terminated, truncated, to_act, self.seed, self.episode_id)
