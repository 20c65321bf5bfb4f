"""Writes logs with Inspect itself, in both of its formats, without a model: `python inspect_writer.py FOLDER`.

It prints what Inspect reads back, for the test to compare.
"""

# mypy: ignore-errors
# Inspect is not installed beside this repository.

import json
import sys

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalResults,
    EvalSample,
    EvalSpec,
    read_eval_log,
    write_eval_log,
)
from inspect_ai.log._log import EvalMetric, EvalScore
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, ContentReasoning, ContentText
from inspect_ai.scorer import Score
from inspect_ai.tool import ToolCall

samples = [
    EvalSample(
        id="sum",
        epoch=1,
        input="What is 2+2?",
        target="4",
        messages=[
            ChatMessageSystem(content="You add."),
            ChatMessageUser(content="What is 2+2? " + "y" * 4000),
            ChatMessageAssistant(
                content=[ContentReasoning(reasoning="Two and two."), ContentText(text="The answer is 4.")],
                tool_calls=[ToolCall(id="1", function="add", arguments={"a": 2, "b": 2})],
            ),
        ],
        scores={"includes": Score(value="C", answer="4")},
    ),
    EvalSample(id=7, epoch=2, input="What is 3+3?", target="6", scores={"includes": Score(value="I")}),
]
spec = EvalSpec(
    created="2026-11-22T00:00:00+00:00",
    task="sums",
    dataset=EvalDataset(name="sums", samples=2),
    model="mockllm/model",
    config=EvalConfig(),
)
metric = EvalMetric(name="accuracy", value=0.5)
score = EvalScore(name="includes", scorer="includes", metrics={"accuracy": metric})
results = EvalResults(total_samples=2, completed_samples=2, scores=[score])
log = EvalLog(eval=spec, results=results, samples=samples, status="success")
told = {}
for form in ("eval", "json"):
    path = f"{sys.argv[1]}/log.{form}"
    write_eval_log(log, path, format=form)
    read = read_eval_log(path, resolve_attachments=True)
    told[path] = [[message.text for message in sample.messages] for sample in read.samples]
print(json.dumps(told))
