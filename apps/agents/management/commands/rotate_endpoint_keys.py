"""`manage.py rotate_endpoint_keys`: seal the keys of endpoint agents anew."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import models, transaction

from apps.agents import seal
from apps.agents.models import Endpoint


class Command(BaseCommand):
    """Adds a new key to the file, seals every stored endpoint key with it, and forgets the old ones if asked."""

    help = "Add a new key to ENDPOINT_KEYS_FILE and seal every stored endpoint key with it."

    def add_arguments(self, parser: CommandParser) -> None:
        """`--forget-old`: without it the old keys stay in the file, so that backups can still be read."""
        parser.add_argument("--forget-old", action="store_true", help="keep only the new key in the file")

    def handle(self, *args: Any, **options: Any) -> None:
        """Add, seal, forget; each step can be repeated."""
        seal.add_key()
        lost = []
        with transaction.atomic():
            sealed = Endpoint.objects.select_for_update().exclude(sealed_key="")
            for endpoint in sealed:
                try:
                    again = seal.reseal(endpoint.sealed_key)
                except seal.CannotUnseal:
                    lost.append(endpoint.agent_id)
                    continue
                Endpoint.objects.filter(pk=endpoint.pk).update(sealed_key=again)
            number = len(sealed) - len(lost)
            others = sum(_reseal(rows, field) for rows, field in seal.SEALED)
        if others:
            self.stdout.write(f"{others} secrets of webhooks are sealed with the new key.")
        self.stdout.write(f"{number} endpoint keys are sealed with the new key.")
        if lost:
            raise CommandError(
                f"{len(lost)} keys were sealed with a key that is not in the file (agents {lost}). Nothing was "
                "forgotten: put the old key back into the file, or have their owners enter the keys again."
            )
        if options["forget_old"]:
            self.stdout.write(f"{seal.forget_old_keys()} old keys are gone from the file.")


def _reseal(rows: models.Manager[Any], field: str) -> int:
    """Seal this field of all rows anew. What can no longer be read stays as it is. Returns the number of rows."""
    number = 0
    for key, sealed in rows.select_for_update().values_list("pk", field):
        try:
            again = seal.reseal(sealed)
        except seal.CannotUnseal:
            continue
        number += rows.filter(pk=key).update(**{field: again})
    return number
