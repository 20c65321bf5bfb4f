"""OpenEnv's own server with our GuessTheNumber behind it; `bench.interop` starts it where OpenEnv is installed.

python -m bench.interop.openenv_server PORT SESSIONS
"""

# mypy: ignore-errors
# OpenEnv is not installed beside this repository.

import sys

import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

import gem

ENV_ID = "game:GuessTheNumber-v0-easy"


class Guess(Action):
    """What the agent writes."""

    message: str


class Answer(Observation):
    """What there is to read."""

    prompt: str
    info: dict
    success: bool | None = None
    """Whether the number was found; None before the end. A reward above 0 is also paid for a number close to it."""


class Guessing(Environment):
    """Our environment in the interface of OpenEnv."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self.env = gem.make(ENV_ID)
        self._state = State(episode_id="0", step_count=0)

    def reset(self, seed=None, episode_id=None, **_):
        """Begin an episode."""
        text, info = self.env.reset(seed=seed)
        self._state = State(episode_id=episode_id or "0", step_count=0)
        return Answer(prompt=text, info=info)

    def step(self, action, timeout_s=None, **_):
        """Take a turn."""
        text, reward, terminated, truncated, info = self.env.step(action.message)
        self._state.step_count += 1
        success = info.get("success")
        return Answer(prompt=text, info=info, reward=reward, done=terminated or truncated, success=success)

    @property
    def state(self):
        """The state of the episode."""
        return self._state


if __name__ == "__main__":
    app = create_fastapi_app(Guessing, Guess, Answer, max_concurrent_envs=int(sys.argv[2]))
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False)
