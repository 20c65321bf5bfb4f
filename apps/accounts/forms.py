"""What people fill in to make an account, to log in and to change their password."""

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.password_validation import password_validators_help_texts, validate_password
from django.contrib.auth.validators import ASCIIUsernameValidator
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from apps.accounts.models import User

RESERVED = {"admin", "anonymous", "expert", "gemweb", "human", "random", "root", "staff", "system"}
"""Names that would be mistaken for an agent or for the people who run the site."""

MAX_PASSWORD = 200
"""Hashing a longer one would keep a core busy."""


class LogInForm(AuthenticationForm):
    """Name and password."""

    error_messages = {
        "invalid_login": "That name and password do not belong together. Nothing was changed; try again.",
        "inactive": "This account is switched off. Ask the people who run this site.",
    }

    def __init__(self, request: HttpRequest | None = None, **kwargs: Any) -> None:
        super().__init__(request, **kwargs)
        self.fields["username"].label = "Name"
        self.fields["username"].widget.attrs["autofocus"] = True
        self.fields["username"].error_messages["required"] = "Write your name."
        self.fields["password"] = password_field("Password", "current-password")


class SignUpForm(forms.Form):
    """A name and a password are enough."""

    username = forms.CharField(
        label="Name",
        max_length=40,
        help_text="Letters, digits and @ . + - _ only. Everybody can see it beside your jobs.",
        validators=[ASCIIUsernameValidator(message="A name has only letters, digits and @ . + - _.")],
        error_messages={"required": "Choose a name.", "max_length": "A name has at most 40 characters."},
        widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True, "spellcheck": "false"}),
    )

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.fields["password"] = password_field("Password", "new-password")

    def clean_username(self) -> str:
        """Refuse the names of agents and offices, and names that somebody has in another case."""
        name: str = self.cleaned_data["username"]
        if name.lower() in RESERVED or User.objects.filter(username__iexact=name).exists():
            raise ValidationError("Somebody has this name already. Choose another one.")
        return name

    def clean(self) -> dict[str, Any]:
        """The password obeys the rules, one of which is that it differs from the name."""
        cleaned = super().clean() or {}
        check_password(self, "password", User(username=cleaned.get("username", "")))
        return cleaned


class PasswordForm(forms.Form):
    """A new password, after the old one if there is one."""

    def __init__(self, user: User, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.user = user
        if user.has_usable_password():
            self.fields["old"] = password_field("Password now", "current-password")
        self.fields["new"] = password_field("New password", "new-password")

    def clean_old(self) -> str:
        """The password they have now."""
        old: str = self.cleaned_data["old"]
        if not self.user.check_password(old):
            raise ValidationError("That is not your password. Nothing was changed.")
        return old

    def clean(self) -> dict[str, Any]:
        """The new password obeys the rules."""
        cleaned = super().clean() or {}
        check_password(self, "new", self.user)
        return cleaned


def password_field(label: str, autocomplete: str) -> forms.CharField:
    """A password as it was typed, spaces included."""
    attributes = {"autocomplete": autocomplete}
    return forms.CharField(
        label=label,
        strip=False,
        max_length=MAX_PASSWORD,
        widget=forms.PasswordInput(attrs=attributes),
        error_messages={"required": "Write a password." if autocomplete == "new-password" else "Write your password."},
    )


def check_password(form: forms.Form, name: str, user: User) -> None:
    """Add an error to the field `name` if the password in it breaks the rules."""
    password = form.cleaned_data.get(name)
    if not password:
        return
    try:
        validate_password(password, user)
    except ValidationError as error:
        form.add_error(name, error)


def password_rules() -> list[str]:
    """The rules that a new password has to obey, to be shown before anybody breaks one."""
    return password_validators_help_texts()
