"""The writes of accounts."""

from datetime import timedelta
from importlib import import_module

from django.conf import settings
from django.contrib import auth
from django.core import signing
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils import timezone

from apps.accounts import visitors
from apps.accounts.models import User

LINK_LIFETIME = timedelta(minutes=15)
LINK_USER = "admin"

_SALT = "accounts.login_link"
_BACKEND = "django.contrib.auth.backends.ModelBackend"


class NameTaken(Exception):
    """Somebody took the name between the check and the write."""


class LinkRefused(Exception):
    """The login link is not ours, too old, or used."""


def sign_up(request: HttpRequest, username: str, password: str) -> User:
    """Make the account and log its owner in.

    Raises:
        NameTaken: if two people asked for the name at once.
    """
    try:
        with transaction.atomic():
            user = User.objects.create_user(username, password=password)
    except IntegrityError as error:
        raise NameTaken(username) from error
    log_in(request, user)
    return user


def log_in(request: HttpRequest, user: User) -> None:
    """Begin a session for `user`; what they played in this browser becomes theirs."""
    visitor = visitors.known(request)
    with transaction.atomic():
        auth.login(request, user, backend=_BACKEND)
        visitors.join(user, visitor)


def change_password(request: HttpRequest, user: User, password: str) -> None:
    """Set a new password; other browsers are logged out, this one is not."""
    user.set_password(password)
    user.save(update_fields=["password"])
    auth.update_session_auth_hash(request, user)


def forget_ended_sessions() -> None:
    """Delete sessions that have run out; nothing else does, and every visitor who plays has one."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()


def make_login_link() -> str:
    """A token that logs in as `admin` once within 15 minutes. Using it makes all earlier ones worthless."""
    user = User.objects.filter(username=LINK_USER).first()
    return signing.dumps({"after": _last_login(user)}, salt=_SALT)


def use_login_link(request: HttpRequest, token: str) -> User:
    """Log in as `admin`, who is created at the first use.

    Raises:
        LinkRefused: if the token is not ours, older than 15 minutes, or used.
    """
    after = _bound_to(token)
    with transaction.atomic():
        user, created = User.objects.select_for_update().get_or_create(
            username=LINK_USER, defaults={"is_staff": True, "is_superuser": True}
        )
        if created:
            user.set_unusable_password()
        if _last_login(user) != after:
            raise LinkRefused(token)
        user.last_login = timezone.now()
        user.save()
        log_in(request, user)
    return user


def check_login_link(token: str) -> None:
    """Say whether the link would work now, without using it up.

    Raises:
        LinkRefused: as `use_login_link`.
    """
    if _last_login(User.objects.filter(username=LINK_USER).first()) != _bound_to(token):
        raise LinkRefused(token)


def _bound_to(token: str) -> str:
    try:
        return str(signing.loads(token, salt=_SALT, max_age=LINK_LIFETIME)["after"])
    except signing.BadSignature as error:
        raise LinkRefused(token) from error


def _last_login(user: User | None) -> str:
    """What a link is bound to: it changes with every login, so that a used link fits no more."""
    return user.last_login.isoformat() if user and user.last_login else ""
