"""Environments over datasets: the seed names a row, the answer is judged, the source is known."""

import base64
import json
import pickle
from pathlib import Path

import pytest

import gem
from gem.errors import DataUnavailable, InvalidArgument, InvalidData
from gem.views import without_actions
from gem.views.images import data_url

ROWS = [{"problem": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(10)]
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")


@pytest.mark.parametrize(
    ("action", "reward", "error"),
    [
        ("I add them: \\boxed{4}.", 1.0, None),
        ("\\boxed{5} no, \\boxed{\\frac{8}{2}}", 1.0, None),
        ("\\boxed{5}", 0.0, None),
        ("It is 4.", 0.0, "format"),
        ("\\boxed{4", 0.0, "format"),
        ("\\boxed{}", 0.0, None),
    ],
)
def test_the_last_box_is_the_answer_to_a_problem(action: str, reward: float, error: str | None) -> None:
    env = gem.make("math:GSM8K", dataset=ROWS)
    assert env.reset(seed=2)[0] == "What is 2 + 2?"
    observation, earned, terminated, truncated, info = env.step(action)
    assert (earned, terminated, truncated, info["success"]) == (reward, True, False, reward == 1)
    assert info.get("error") == error
    assert ("A correct answer: 4" in observation) == (reward == 0)


def test_the_seed_names_a_row_whatever_happened_before() -> None:
    env = gem.make("math:GSM8K", dataset=ROWS)
    observations = [env.reset(seed=seed)[0] for seed in range(10)]
    assert observations == [row["problem"] for row in ROWS]
    env.reset(), env.reset()
    assert env.reset(seed=23)[0] == ROWS[3]["problem"]
    assert env.reset(seed=2**63 - 1)[1]["data"]["row"] == (2**63 - 1) % 10


def test_the_first_info_and_the_episode_name_the_data() -> None:
    env = gem.make("math:GSM8K", dataset=ROWS)
    _, info = env.reset(seed=1)
    assert info["data"] == {"source": "rows that were given", "sha256": env.data_hash, "row": 1}
    assert len(env.data_hash) == 64
    assert ("From", "rows that were given") in env.view()["facts"]


def test_rows_may_be_a_file_with_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("Question,Answer,topic\nWho wrote it?,Ada Lovelace,x\n")
    env = gem.make("qa:HotpotQA", dataset=str(path))
    assert env.reset(seed=0)[0] == "Who wrote it?"
    assert env.step("<answer>ada lovelace</answer>")[1] == 1
    assert gem.make("qa:HotpotQA", dataset=str(path), question_key="topic").reset(seed=0)[0] == "x"
    with pytest.raises(InvalidArgument, match="no column 'body' for question_key; there are Question, Answer, topic"):
        gem.make("qa:HotpotQA", dataset=str(path), question_key="body")
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(InvalidArgument, match="Say with question_key which of the columns a, b it is"):
        gem.make("qa:HotpotQA", dataset=str(path))
    with pytest.raises(DataUnavailable, match="There is no file"):
        gem.make("qa:HotpotQA", dataset="nowhere.csv")


@pytest.mark.parametrize(
    "row", [{"problem": "?"}, {"problem": "?", "answer": None}, {"answer": float("nan")} | {"problem": "?"}]
)
@pytest.mark.parametrize("env_id", ["math:GSM8K", "qa:HotpotQA"])
def test_a_row_without_its_answer_is_the_environments_fault(env_id: str, row: dict[str, object]) -> None:
    env = gem.make(env_id, dataset=[ROWS[0], row])
    with pytest.raises(InvalidData, match="Row 1 of rows that were given lacks its question or its answer"):
        env.reset(seed=1)


@pytest.mark.parametrize(
    ("action", "reward", "f1", "error"),
    [
        ("<answer>the Eiffel Tower.</answer>", 1.0, 1.0, None),
        ("<answer>Rome</answer> <answer> Eiffel tower </answer>", 1.0, 1.0, None),
        ("\\boxed{La tour Eiffel}", 1.0, 1.0, None),
        ("<answer>Rome</answer> \\boxed{Eiffel Tower}", 0.0, 0.0, None),
        ("<answer>Tower</answer>", 0.0, 2 / 3, None),
        ("Eiffel Tower", 0.0, 0.0, "format"),
        ("<answer>Eiffel Tower", 0.0, 0.0, "format"),
        ("</answer>Eiffel Tower<answer>", 0.0, 0.0, "format"),
    ],
)
def test_the_last_tagged_answer_counts_for_a_question(action: str, reward: float, f1: float, error: str | None) -> None:
    env = gem.make("qa:NaturalQuestions", dataset=[{"question": "?", "answer": ["Eiffel Tower", "La tour Eiffel"]}])
    env.reset(seed=0)
    _, earned, _, _, info = env.step(action)
    assert (earned, info["success"], info.get("error")) == (reward, reward == 1, error)
    assert info["f1"] == pytest.approx(f1, abs=1e-6)


def test_a_statement_is_true_or_false() -> None:
    row = {"question": "Anne is kind.\n\nStatement: Anne is kind.", "answer": "True"}
    env = gem.make("logic:RuleTaker-d0", dataset=[row])
    for action, reward in (
        ("\\boxed{True}", 1),
        ("\\boxed{true}", 1),
        ("\\boxed{False}", 0),
        ("<answer>True</answer>", 0),
    ):
        env.reset(seed=0)
        assert env.step(action)[1] == reward
    env.reset(seed=0)
    assert {env.sample_random_action() for _ in range(20)} == {"\\boxed{True}", "\\boxed{False}"}


def test_lists_as_answers_allow_each_of_their_members() -> None:
    env = gem.make("eval:Minerva", dataset=[{"problem": "?", "answer": ["0.01\n", "0.02\n"]}])
    for action, reward in (("\\boxed{0.02}", 1), ("\\boxed{0.03}", 0)):
        env.reset(seed=0)
        observation, earned, *_ = env.step(action)
        assert earned == reward
    assert observation.endswith("A correct answer: 0.01 or 0.02")


def test_a_picture_is_in_the_view_and_in_the_info(tmp_path: Path) -> None:
    (tmp_path / "one.png").write_bytes(PNG)
    address = data_url(PNG)
    rows = [
        {"problem": "Find $x$.", "answer": "1", "images": [address]},
        {"problem": "Find $x$.", "answer": "1", "images": ["one.png"]},
        {"problem": "Find $x$.", "answer": "1", "images": []},
        {"problem": "Find $x$.", "answer": "1", "images": [address, address]},
    ]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    env = gem.make("math:Geometry3K", dataset=str(tmp_path / "own.jsonl"))
    for seed, count in enumerate((1, 1, 0, 2)):
        _, info = env.reset(seed=seed)
        assert info["images"] == [address] * count
        view = env.view()
        assert view["kind"] == "image"
        assert [picture["src"] for picture in view["pictures"]] == info["images"]
        assert without_actions(view) == view
        other = pickle.loads(pickle.dumps(env))
        assert other.view() == view
    assert view["pictures"][1]["label"] == "The drawing of the problem, 2 of 2"


def test_pictures_of_a_table_are_bytes(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [{"problem": "?", "answer": "1", "images": [{"bytes": PNG, "path": "a.png"}]}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    env = gem.make("math:Geometry3K", dataset=str(tmp_path / "a.parquet"))
    assert env.reset(seed=0)[1]["images"] == [data_url(PNG)]


@pytest.mark.parametrize(
    ("picture", "said"),
    [
        ("../secret.png", "which is not beside it"),
        ("missing.png", "which is not beside it"),
        ("link.png", "which is not beside it"),
        ("data:image/svg+xml;base64,PHN2Zz4=", "must be a PNG, JPEG, GIF or WebP"),
        ("data:text/html,<script>", "cannot be read"),
        (7, "must be bytes or a data: URL, not int"),
    ],
)
def test_what_is_no_picture_is_refused(picture: object, said: str, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(PNG)
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "own.jsonl").write_text(json.dumps({"problem": "?", "answer": "1", "images": [picture]}))
    env = gem.make("math:Geometry3K", dataset=str(folder / "own.jsonl"))
    with pytest.raises(InvalidData, match=said):
        env.reset(seed=0)


def test_a_picture_that_is_too_large_is_refused() -> None:
    with pytest.raises(InvalidData, match="at most 4,194,304 can be shown"):
        data_url(PNG + b"\0" * 2**22)


def test_given_rows_name_no_files() -> None:
    env = gem.make("math:Geometry3K", dataset=[{"problem": "?", "answer": "1", "images": ["/etc/hostname"]}])
    with pytest.raises(InvalidData, match="not beside it"):
        env.reset(seed=0)


def test_an_answer_that_sympy_gives_up_is_named() -> None:
    pytest.importorskip("math_verify")
    env = gem.make("math:GSM8K", dataset=[{"problem": "?", "answer": "\\prod_{n=1}^{100001} (n+x)"}])
    env.reset(seed=0)
    *_, info = env.step("\\boxed{\\prod_{n=1}^{100000} (n+x)}")
    assert (info["success"], info["grading"]) == (False, "given up")


def test_all_of_gems_ids_are_there() -> None:
    ids = set(gem.registry.ENV_REGISTRY)
    mathematics = ("ASDiv2K", "GSM8K", "Math12K", "Math8K-3to5", "Orz57K", "DeepScaleR40K", "Geometry3K")
    evaluation = ("MATH500", "AMC", "OlympiadBench", "Minerva", "AIME24", "QaOpen", "2Wiki", "PopQA", "TriviaQA")
    wanted = {f"math:{name}" for name in mathematics} | {"qa:NaturalQuestions", "qa:HotpotQA"}
    wanted |= {f"logic:RuleTaker-d{depth}" for depth in (0, 1, 2, 3, 5)}
    wanted |= {f"eval:{name}" for name in (*evaluation, "HotpotQA", "Bamboogle", "NaturalQuestions", "Musique")}
    assert wanted <= ids


def test_problems_of_ones_own_become_an_environment(tmp_path: Path) -> None:
    """As docs/datasets.md says."""
    (tmp_path / "problems.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    path = str(tmp_path / "problems.jsonl")
    gem.register("math:Mine-v0", "gem.envs.problems.math:MathEnv", dataset=path, turns="single", board="text")
    try:
        env = gem.make("math:Mine-v0")
        assert env.reset(seed=4)[0] == "What is 4 + 4?"
        assert env.step("\\boxed{8}")[1] == 1
    finally:
        del gem.registry.ENV_REGISTRY["math:Mine-v0"]
