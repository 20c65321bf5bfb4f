"""ReasoningGym's helper with a scorer that never ends."""

from gem.envs.reasoning import helper


def serve() -> None:
    """Serve like the helper, with 0.2 CPU seconds for a score."""
    helper.HANDLERS["score"] = lambda _: {"score": sum(1 for _ in iter(int, 1))}
    helper.CPU_SECONDS["score"] = 0.2
    helper.serve()
