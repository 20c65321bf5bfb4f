"""Rules for new passwords besides Django's."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from apps.accounts.models import User

MIN_DIFFERENT = 4


class DifferentCharactersValidator:
    """Refuses passwords of few different characters, such as ten spaces."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Check a password.

        Raises:
            ValidationError: with a sentence.
        """
        if len(set(password) - {" "}) < MIN_DIFFERENT:
            raise ValidationError(f"This password has fewer than {MIN_DIFFERENT} different characters.")

    def get_help_text(self) -> str:
        """The rule, as it is shown beside the field."""
        return f"Your password needs at least {MIN_DIFFERENT} different characters, not counting spaces."
