"""Fill a new site with content: examples, a show, and the jobs behind the first rows of the leaderboard."""

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
    """Run `python manage.py demo`. It adds only what is missing."""

    help = "Add the example episodes, the showcase and the baseline jobs, unless they exist. Safe to repeat."

    def handle(self, *args: Any, **options: Any) -> None:
        """Play the examples in this process; workers play the show and the jobs."""
        showcase.present()
        for agent in AGENTS:
            submit_baseline(agent)
        examples = make_examples()
        if options["verbosity"]:
            self.stdout.write(
                f"Demo: {examples} new examples; {' and '.join(AGENTS)} are on the benchmark {BENCHMARK}."
            )


def submit_baseline(agent: str) -> None:
    """Submit the evaluation of a built-in agent, once for each version of the benchmark."""
    version = benchmarks.load(BENCHMARK).version
    jobs.submit(
        None,
        EvaluationSpec(agent=agent, benchmark=BENCHMARK),
        name=f"{agent} on {BENCHMARK}",
        idempotency_key=f"demo-{BENCHMARK}-{version}-{agent}",
    )
