r"""A problem of mathematics with the Python tool around it, and a reward for failed calls.

Prints:
    42
    True
    -0.1
    1.0 True
"""

from gem.envs.math_env import MathEnv

from gem.tools.python_code_tool import PythonCodeTool
from gem.tools.tool_env_wrapper import ToolEnvWrapper

env = MathEnv(dataset=[{"problem": "6 * 7?", "answer": "42"}], use_mp=False, verbose=True)
tool = PythonCodeTool(timeout=5, sandbox_type="none", keep_error_last_line=True)
wrapped = ToolEnvWrapper(env, tools=[tool], tool_execute_error_reward=-0.1, max_tool_uses=3)
wrapped.reset()
observation, *_, info = wrapped.step("<python>print(6 * 7)</python>")
print("42" if "42" in observation else observation)
print(info["use_tool"])
_, reward, *_ = wrapped.step("<python>1 / 0</python>")
print(reward)
_, reward, terminated, *_ = wrapped.step("\\boxed{42}")
print(reward, terminated)
