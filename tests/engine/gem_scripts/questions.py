r"""Questions whose answer stands in a box or between tags.

Prints:
    1.0
    0.0
    1.0
    question
"""

from gem.envs.qa_env import QaEnv, apply_prompt

rows = [{"question": "The capital of France?", "answer": ["Paris"]}]
env = QaEnv(dataset=rows, extract_boxed=True, load_from_cache_file=False)
env.reset()
print(env.step("\\boxed{Paris}")[1])
env.reset()
print(env.step("<answer>Paris</answer>")[1])
env = QaEnv(dataset=rows, extract_boxed=False)
env.reset()
print(env.step("<answer>Paris</answer>")[1])
print("question" if apply_prompt({"question": "question"})["question"].startswith("question") else "")
