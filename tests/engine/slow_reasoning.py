"""ReasoningGym's helper with a scorer that never ends."""

from gem.envs.reasoning import helper


def serve() -> None:
    """As the helper's, with little patience."""
    helper.VERBS["score"] = lambda _: {"score": sum(1 for _ in iter(int, 1))}
    helper.CPU_SECONDS["score"] = 0.2
    helper.serve()
