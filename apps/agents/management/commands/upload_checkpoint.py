"""`manage.py upload_checkpoint policy.zip --owner ada`: make an agent of a checkpoint, as the page does."""

from pathlib import Path
from time import sleep
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import User
from apps.agents import uploads
from apps.agents.models import Agent, Upload
from apps.agents.operations import TooManyAgents
from apps.visibility import Visibility

WAIT_SECONDS = 0.5


class Command(BaseCommand):
    """Unpacks, looks, tries, and stores; what is refused leaves nothing."""

    help = "Make an agent of a checkpoint in a zip or tar archive, once it has played a turn."

    def add_arguments(self, parser: CommandParser) -> None:
        """The archive, and whose agent it becomes."""
        parser.add_argument("archive", type=Path, help="zip or tar, such as a checkpoint's download")
        parser.add_argument("--owner", required=True, metavar="NAME", help="whose agent it becomes")
        parser.add_argument("--name", default="", help="what pages call it; otherwise as its card says")
        parser.add_argument(
            "--visibility", choices=Visibility.values, default="", help="by default as the account says"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Upload the file and print the address of the agent's page."""
        try:
            owner = User.objects.get_by_natural_key(options["owner"])
        except User.DoesNotExist as error:
            raise CommandError(f"There is nobody called {options['owner']}.") from error
        try:
            with Path(options["archive"]).open("rb") as file:
                accepted = uploads.accept(owner, options["name"], file, visibility=options["visibility"])
        except OSError as error:
            raise CommandError(f"The archive cannot be read: {error}.") from error
        except TooManyAgents as refused:
            raise CommandError(str(refused)) from refused
        except ValidationError as refused:
            raise CommandError(" ".join(refused.messages)) from refused
        while still := Upload.objects.filter(pk=accepted.pk).first():
            if still.problem:
                still.delete()
                raise CommandError(still.problem)
            if not uploads.try_next():  # a worker is at it
                sleep(WAIT_SECONDS)
        made = Agent.objects.get(slug=accepted.pk)
        self.stdout.write(f"{made.name}: {made.get_absolute_url()}")
