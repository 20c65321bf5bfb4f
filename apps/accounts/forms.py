"""The forms to create an account, to log in and to change a password."""

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.password_validation import password_validators_help_texts, validate_password
from django.contrib.auth.validators import ASCIIUsernameValidator
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from apps.accounts import limits
from apps.accounts.models import User
from apps.accounts.personal_data import has_fresh_login
from apps.names import validate_free_name
from apps.visibility import CHOICES

MAX_PASSWORD = 200
"""The longest password, in characters: hashing a longer one would keep a CPU core busy."""


class LogInForm(AuthenticationForm):
    """The form to log in, with name and password."""

    error_messages = {
        "invalid_login": "This name and password do not match. Nothing was changed. Try again.",
        "inactive": "This account is disabled. Ask an administrator of this site.",
    }

    def __init__(self, request: HttpRequest | None = None, **kwargs: Any) -> None:
        super().__init__(request, **kwargs)
        self.fields["username"].label = "Name"
        self.fields["username"].widget.attrs["autofocus"] = True
        self.fields["username"].error_messages["required"] = "Enter your name."
        self.fields["password"] = password_field("Password", "current-password")

    def clean(self) -> dict[str, Any]:
        """Compare name and password.

        Raises:
            TooOften: if there were too many attempts, before anything is compared.
        """
        name = self.cleaned_data.get("username")
        if name and self.request is not None:
            limits.check_log_in(self.request, name)
        return super().clean()


class SignUpForm(forms.Form):
    """The form to create an account: a name and a password."""

    username = forms.CharField(
        label="Name",
        max_length=40,
        help_text="Only letters, digits and @ . + - _. Everybody can see it next to your jobs.",
        validators=[ASCIIUsernameValidator(message="Use only letters, digits and @ . + - _."), validate_free_name],
        error_messages={"required": "Choose a name.", "max_length": "Use at most 40 characters."},
        widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True, "spellcheck": "false"}),
    )

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.fields["password"] = password_field("Password", "new-password")

    def clean_username(self) -> str:
        """Refuse names that exist already, whatever their case."""
        name: str = self.cleaned_data["username"]
        if User.objects.filter(username__iexact=name).exists():
            raise ValidationError("This name is taken. Choose another one.")
        return name

    def clean(self) -> dict[str, Any]:
        """Check the password against the rules; one of them compares it with the name."""
        cleaned = super().clean() or {}
        check_password(self, "password", User(username=cleaned.get("username", "")))
        return cleaned


class VisibilityForm(forms.Form):
    """The form with the visibility of what somebody begins or adds without choosing one."""

    default_visibility = forms.ChoiceField(
        label="Episodes, duels, evaluations and trainings",
        choices=CHOICES,
        help_text="Only public evaluations are on the leaderboard.",
    )
    agent_visibility = forms.ChoiceField(
        label="Agents and uploaded checkpoints",
        choices=CHOICES,
        help_text="Everybody with an account who can see an agent can let it play.",
    )


class PasswordForm(forms.Form):
    """The form to set a password. It asks for the present password if there is one."""

    def __init__(self, user: User, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.user = user
        if user.has_usable_password():
            self.fields["old"] = password_field("Current password", "current-password")
        self.fields["new"] = password_field("New password", "new-password")

    def clean_old(self) -> str:
        """Check the current password."""
        old: str = self.cleaned_data["old"]
        if not self.user.check_password(old):
            raise ValidationError("This is not your current password. Nothing was changed.")
        return old

    def clean(self) -> dict[str, Any]:
        """Check the new password against the rules."""
        cleaned = super().clean() or {}
        check_password(self, "new", self.user)
        return cleaned


class DeleteForm(forms.Form):
    """The form to delete an account: the password or, if there is none, a login that is some minutes old at most."""

    def __init__(self, user: User, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.user = user
        self.refusal = ""
        if user.has_usable_password():
            self.fields["password"] = password_field("Password", "current-password")
        else:
            self.fields["sure"] = forms.BooleanField(
                label="Delete my account", error_messages={"required": "Tick this to delete the account."}
            )

    def refuse(self, sentence: str) -> None:
        """Show a sentence instead of errors."""
        self.refusal = sentence

    def clean_password(self) -> str:
        """Check the password."""
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise ValidationError("This is not your password. Nothing was deleted.")
        return password

    def clean_sure(self) -> bool:
        """Check the login of somebody without a password."""
        if not has_fresh_login(self.user):
            raise ValidationError("Log in with a new login link, and delete the account within 15 minutes.")
        return True


def password_field(label: str, autocomplete: str) -> forms.CharField:
    """A password field that keeps leading and trailing spaces."""
    attributes = {"autocomplete": autocomplete}
    return forms.CharField(
        label=label,
        strip=False,
        max_length=MAX_PASSWORD,
        widget=forms.PasswordInput(attrs=attributes),
        error_messages={"required": "Choose a password." if autocomplete == "new-password" else "Enter your password."},
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
    """The rules for new passwords, to be shown beside the field."""
    return password_validators_help_texts()
