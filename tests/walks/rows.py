"""Submits what the boards of the walks' site have: random and the expert on `games`, in jobs of the site itself."""

import django

if __name__ == "__main__":
    django.setup()
    from apps.jobs import operations
    from gem.evaluation.spec import EvaluationSpec

    for agent in ("random", "expert"):
        operations.submit(None, EvaluationSpec(agent=agent, benchmark="games"), name=f"{agent} on games")
