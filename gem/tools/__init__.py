"""Tools that an agent can use between its actions. `ToolEnvWrapper` adds them to any environment.

env = gem.make("game:GuessTheNumber-v0-easy", tools=["python"])
obs, info = env.reset(seed=7)
obs, reward, terminated, truncated, info = env.step("<python>print(2**10)</python>")

`tool` defines what a tool is, `kinds` makes one from its name, and `tool_env_wrapper` finds and carries out the calls
in an action. Begin with `tool`.
"""

from gem.tools.kinds import make_tool, register_tool
from gem.tools.tool import BaseTool, ToolCall, ToolOutput
from gem.tools.tool_env_wrapper import ToolEnvWrapper

__all__ = ["BaseTool", "ToolCall", "ToolEnvWrapper", "ToolOutput", "make_tool", "register_tool"]
