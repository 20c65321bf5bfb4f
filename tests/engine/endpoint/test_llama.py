"""An endpoint agent at llama.cpp's own server, which plays with nano-base."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import gem
from gem.agents.endpoint import EndpointAgent, EndpointSpec
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest, rollout
from tests.installed import environment

EASY = "game:GuessTheNumber-v0-easy"
NANO = Path(gem.__file__).parent / "training" / "models" / "nano-base"


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    """The address of the server."""
    python = environment("llama") / "python"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = str(Path(__file__).with_name("llama_server.py"))
    with subprocess.Popen(
        [str(python), script, str(NANO), str(port)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith("http://"), "the server did not start"
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


def played(llama: str, **more: object) -> EpisodeRecord:
    spec = {"url": llama, "model": "nano", "system": "", "temperature": 0, "max_tokens": 16, "patience": 10, **more}
    (record,) = rollout(EndpointAgent(EndpointSpec.model_validate(spec)), [EpisodeRequest(0, EASY, seed=3)])
    return record


def test_it_is_played_with_streamed_or_not_and_says_the_same(llama: str) -> None:
    streamed, whole = played(llama), played(llama, stream=False)
    assert [turn.action for turn in streamed.turns] == [turn.action for turn in whole.turns]
    assert streamed.turns[0].action.startswith("\\boxed{")
    for record in (streamed, whole):
        extra = record.turns[0].extra
        assert extra["tokens_in"] > 50
        assert 2 <= extra["tokens_out"] <= 16
        assert extra["model"].endswith(".gguf")


def test_a_prompt_that_is_too_long_is_refused_in_its_words(llama: str) -> None:
    record = played(llama, system="digits 0123456789 " * 200)
    assert record.failed_by == "agent"
    assert "The server answered 400" in record.failure
    assert "exceeds the available context size" in record.failure


def test_an_answer_at_the_token_limit_says_so(llama: str) -> None:
    record = played(llama, max_tokens=2)
    assert record.turns[0].extra["finish"] == "length"
    assert record.turns[0].extra["tokens_out"] == 2
