"""Fill a new site with content: examples, a show, and the jobs behind the first rows of the leaderboard."""

from typing import Any

from django.core.management.base import BaseCommand

from apps.leaderboard.boards import site_rows
from apps.leaderboard.seasons import begin_all
from apps.play.shows import showcase
from apps.site.examples import make_examples


class Command(BaseCommand):
    """Run `python manage.py demo`. It adds only what is missing."""

    help = "Add the example episodes, the showcase and the first row of the site's own. Safe to repeat."

    def handle(self, *args: Any, **options: Any) -> None:
        """Play the examples in this process; workers play the show, and the rows of the site one after the other."""
        showcase.present()
        begin_all()
        site_rows.submit_next()
        examples = make_examples()
        if options["verbosity"]:
            self.stdout.write(f"Demo: {examples} new examples; idle workers fill the leaderboard.")
