"""Environments over datasets: mathematics, questions, logic, programming, and test sets for evaluations.

This module only registers them; a class is imported when an environment is made. `gem.datasets.names` says where the
data are. Begin reading at `problem`.
"""

from collections.abc import Mapping

from gem.registry import register

MATH: Mapping[str, str] = {
    "math:ASDiv2K": "Word problems of elementary school (ASDiv).",
    "math:GSM8K": "Word problems of school mathematics in several steps (GSM8K).",
    "math:Math12K": "Competition problems of high school, all levels (MATH).",
    "math:Math8K-3to5": "Competition problems of high school, levels 3 to 5 (MATH).",
    "math:Orz57K": "Problems of many sources (Open-Reasoner-Zero).",
    "math:DeepScaleR40K": "Problems of AIME, AMC, Omni-MATH and STILL (DeepScaleR).",
    "eval:AIME24": "The thirty problems of AIME 2024; answers are integers from 0 to 999.",
    "eval:AMC": "Problems of the American Mathematics Competitions.",
    "eval:MATH500": "Five hundred problems of MATH.",
    "eval:Minerva": "University problems of physics, chemistry and mathematics (Minerva).",
    "eval:OlympiadBench": "Problems of olympiads, with lists, intervals and formulas as answers.",
}
"""Environment id to a summary of its problems."""
QA: Mapping[str, str] = {
    "qa:NaturalQuestions": "Questions that people asked a search engine (NaturalQuestions).",
    "qa:HotpotQA": "Questions whose answer takes two articles (HotpotQA).",
    "eval:QaOpen": "Questions that people asked a search engine (NQ-open).",
    "eval:NaturalQuestions": "512 questions that people asked a search engine (NaturalQuestions).",
    "eval:TriviaQA": "512 questions of quizzes (TriviaQA).",
    "eval:PopQA": "512 questions about rare things (PopQA).",
    "eval:HotpotQA": "512 questions whose answer takes two articles (HotpotQA).",
    "eval:2Wiki": "512 questions over several steps (2WikiMultihopQA).",
    "eval:Musique": "512 questions over two to four steps (MuSiQue).",
    "eval:Bamboogle": "125 questions of two steps that no page answers alone (Bamboogle).",
}
DRAWN: Mapping[str, str] = {
    "easy": "Word problems of one or two steps.",
    "medium": "Word problems of about three steps.",
    "hard": "Word problems of four steps and more, or with a thought that has to be found first.",
}
"""Level of generated word problems to a summary."""
DRAWN_CODE: Mapping[str, str] = {
    "easy": "Programs of one or two lines.",
    "medium": "Programs with a loop or a condition.",
    "hard": "Programs of several steps, or with a thought that has to be found first.",
}
"""Level of generated programming problems to a summary."""
LOGIC_DEPTHS = (0, 1, 2, 3, 5)
SAMPLE_NOTE = "It plays on a built-in sample until the data are there: `gemweb data fetch {}`"

CODE: Mapping[str, str] = {
    "code:CodeContest": "Problems of programming contests (CodeContests).",
    "code:Taco8k": "Problems of programming contests and courses (TACO).",
    "code:PrimeIntellect15k": "Programming problems of several sources (PrimeIntellect's SYNTHETIC-1).",
    "eval:CodeContest": "The held-out problems of programming contests (CodeContests).",
}

for env_id, summary in MATH.items():
    register(
        env_id,
        "gem.envs.problems.math:MathEnv",
        dataset=env_id,
        cost="slow",
        turns="single",
        board="text",
        requires=["math-verify"],
        summary=f"{summary} {SAMPLE_NOTE.format(env_id)}",
    )
register(
    "math:Geometry3K",
    "gem.envs.problems.visual:MathVisualEnv",
    dataset="math:Geometry3K",
    cost="slow",
    turns="single",
    board="image",
    requires=["math-verify"],
    summary=f"Problems of geometry with a drawing (Geometry3K). {SAMPLE_NOTE.format('math:Geometry3K')}",
)
for env_id, summary in QA.items():
    register(
        env_id,
        "gem.envs.problems.qa:QaEnv",
        cost="fast",
        dataset=env_id,
        turns="single",
        board="text",
        summary=f"{summary} {SAMPLE_NOTE.format(env_id)}",
    )
for depth in LOGIC_DEPTHS:
    register(
        f"logic:RuleTaker-d{depth}",
        "gem.envs.problems.logic:LogicEnv",
        cost="fast",
        dataset=f"logic:RuleTaker-d{depth}",
        turns="single",
        board="text",
        summary=(
            f"Say whether a statement follows from facts and rules in at most {depth} step{'s' * (depth != 1)} "
            "(RuleTaker). Problems are generated here without end until the data are there: "
            f"`gemweb data fetch logic:RuleTaker-d{depth}`"
        ),
    )
for suffix, level in {"": "easy", "-easy": "easy", "-medium": "medium", "-hard": "hard"}.items():
    register(
        f"math:Drawn-v0{suffix}",
        "gem.envs.problems.drawn:DrawnEnv",
        cost="fast",
        turns="single",
        board="text",
        summary=f"{DRAWN[level]} Names and numbers are drawn from the seed.",
        level=level,
    )
for env_id, summary in CODE.items():
    register(
        env_id,
        "gem.envs.problems.code:CodeEnv",
        dataset=env_id,
        replay="taped",
        cost="slow",
        turns="single",
        board="code",
        summary=f"{summary} {SAMPLE_NOTE.format(env_id)}",
    )
for suffix, level in {"": "easy", "-easy": "easy", "-medium": "medium", "-hard": "hard"}.items():
    register(
        f"code:Drawn-v0{suffix}",
        "gem.envs.problems.drawn_code:DrawnCodeEnv",
        replay="taped",
        cost="slow",
        turns="single",
        board="code",
        summary=f"{DRAWN_CODE[level]} Constants and tests are drawn from the seed.",
        level=level,
    )
