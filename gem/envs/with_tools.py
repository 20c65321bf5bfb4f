"""Variants of dataset environments that come with a tool, such as `math:GSM8K-python`.

Any environment can be made with tools, `gem.make(id, tools=[...])`. These variants have an id of their own, so that
they can be chosen by name in the catalog.
"""

from gem.envs.problems import MATH, QA, SAMPLE_NOTE
from gem.registry import register

PYTHON = ("math:GSM8K", "math:Math12K")
SEARCH = ("qa:HotpotQA",)

for env_id in PYTHON:
    register(
        f"{env_id}-python",
        "gem.envs.problems.math:MathEnv",
        dataset=env_id,
        tools=["python"],
        max_tool_uses=5,
        turns="single",
        board="text",
        requires=["math-verify"],
        summary=f"{MATH[env_id]} With Python to compute. {SAMPLE_NOTE.format(env_id)}",
    )
for env_id in SEARCH:
    register(
        f"{env_id}-search",
        "gem.envs.problems.qa:QaEnv",
        dataset=env_id,
        tools=[{"name": "search", "index": "auto"}],
        max_tool_uses=5,
        turns="single",
        board="text",
        requires=["bm25s", "PyStemmer"],
        summary=f"{QA[env_id]} With a search engine. {SAMPLE_NOTE.format(env_id)}",
    )
