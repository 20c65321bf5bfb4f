"""Fill a new site with something to see: examples, a show, and the jobs behind the first rows of the leaderboard."""

from typing import Any

from django.core.management.base import BaseCommand

from apps.jobs import operations as jobs
from apps.play.shows import showcase
from apps.site.examples import make_examples
from gem import benchmarks
from gem.evaluation.spec import EvaluationSpec

BENCHMARK = "games"
AGENTS = ("random", "expert")


class Command(BaseCommand):
    """`python manage.py demo`; doing it again adds only what is missing."""

    help = "Add what is missing of the examples, the showcase and the baseline jobs. Safe to repeat."

    def handle(self, *args: Any, **options: Any) -> None:
        """The jobs and the show are played by the workers, the examples here."""
        showcase.present()
        for agent in AGENTS:
            submit_baseline(agent)
        examples = make_examples()
        if options["verbosity"]:
            self.stdout.write(
                f"Demo: {examples} new examples; {' and '.join(AGENTS)} are on the benchmark {BENCHMARK}."
            )


def submit_baseline(agent: str) -> None:
    """Queue the evaluation of a built-in agent on the benchmark, once for each version of it."""
    version = benchmarks.load(BENCHMARK).version
    jobs.submit(
        None,
        EvaluationSpec(agent=agent, benchmark=BENCHMARK),
        name=f"{agent} on {BENCHMARK}",
        idempotency_key=f"demo-{BENCHMARK}-{version}-{agent}",
    )
