"""Words and options of commands in any order, and files of agents that cannot be imported."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gem.cli import _parser
from gem.cli.server import agent
from tests.engine.cli.conftest import Run


def parsed(*words: str) -> dict[str, Any]:
    """The arguments of a command line."""
    return vars(_parser().parse_args(words))


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["jobs", "cancel", "--json", "abcd"], "words", ["cancel", "abcd"]),
        (["jobs", "--json", "cancel", "abcd"], "words", ["cancel", "abcd"]),
        (["curves", "push", "--follow", "runs"], "words", ["push", "runs"]),
        (["webhooks", "add", "--json", "http://a", "job.ended"], "words", ["add", "http://a", "job.ended"]),
        (["compare", "a", "--measure", "return", "b", "c"], "sources", ["a", "b", "c"]),
        (["index", "search", "wiki", "capital", "--topk", "2", "of", "Japan"], "query", ["capital", "of", "Japan"]),
        (["verify", "a.json", "--key", "site.pem", "b.jsonl"], "episodes", Path("b.jsonl")),
        (["agent", "chat", "game:A-v0", "--", "python", "a.py", "-x"], "program", ["python", "a.py", "-x"]),
        (["agent", "chat", "game:A-v0", "--seed", "7", "--", "python", "a.py"], "program", ["python", "a.py"]),
        (["agent", "chat", "game:A-v0", "--seed", "7", "--", "a", "--seed", "8"], "program", ["a", "--seed", "8"]),
    ],
)  # fmt: skip
def test_options_may_stand_between_words(words: list[str], name: str, value: object) -> None:
    assert parsed(*words)[name] == value


def test_options_between_words_are_read() -> None:
    assert parsed("agent", "chat", "game:A-v0", "--seed", "7", "--", "a", "--seed", "8")["seed"] == 7
    assert parsed("jobs", "cancel", "--json", "abcd")["as_json"] is True


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["envs", "--jsn"], "gemweb envs: unrecognized arguments: --jsn. Try gemweb envs --help."),
        (["envs", "sokoban", "wordle"], "gemweb envs: unrecognized arguments: wordle. Try gemweb envs --help."),
        (["jobs", "cancel", "--jsn", "abcd"], "gemweb jobs: unrecognized arguments: --jsn"),
        (["verify", "a", "--key", "k", "b", "c"], "gemweb verify: unrecognized arguments: b c."),
        (["agent", "serve", "a.py", "b.py"], "gemweb agent serve: unrecognized arguments: b.py."),
    ],
)
def test_what_is_unknown_is_named_with_the_help_that_lists_what_is_known(
    run: Run, words: list[str], sentence: str
) -> None:
    code, _, err = run(*words)
    assert code == 2
    assert sentence in err


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("def act(:", "SyntaxError: invalid syntax"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("act = 5", "has no function act"),
    ],
)
def test_a_file_without_an_agent_is_one_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, sentence: str
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "my_agent.py"
    file.write_text(content)
    code, _, err = run("agent", "serve", file)
    assert (code, sentence in err, len(err.splitlines())) == (2, True, 1)


def test_a_program_gets_the_address_and_the_key_of_its_episode(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Site:
        """The part of a client that the command uses."""

        remotes = property(lambda self: self)

        def __enter__(self) -> "Site":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def add(self, name: str) -> Any:
            self.slug = name
            return self

        def begin_chat(self, slug: str, env_id: str, **wanted: Any) -> Any:
            self.base_url, self.key, self.url, self.seed = f"{slug}/{env_id}", "ep_1", "page", wanted["seed"]
            self.episode = self
            return self

    monkeypatch.setattr(agent, "connect", lambda _url: Site())
    told = tmp_path / "told.json"
    program = "import json, os, sys; json.dump([os.environ['OPENAI_BASE_URL'], *sys.argv[2:]], open(sys.argv[1], 'w'))"
    words = ("--seed", 7, "--name", "mine", "--", sys.executable, "-c", program, told, "--seed", "8")
    assert run("agent", "chat", "game:A-v0", *words).code == 0
    assert json.loads(told.read_text()) == ["mine/game:A-v0", "--seed", "8"]
