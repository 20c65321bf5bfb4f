r"""A program that is judged by tests, with GEM's names of arguments.

Prints:
    1.0
    0.0
"""

from gem.envs.code_env import CodeEnv

rows = [{"problem": "Add two numbers.", "tests": {"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]}}]
env = CodeEnv(dataset=rows, dataset_name="sums", max_tests=2, max_workers=2, sandbox_type="none", verbose=True)
env.reset()
print(env.step("```python\nprint(sum(map(int, input().split())))\n```")[1])
env.reset()
print(env.step("```python\nprint(3)\n```")[1])
