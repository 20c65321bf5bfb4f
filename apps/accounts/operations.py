"""Operations on accounts: sign up, log in, change the password, and login links."""

from datetime import timedelta
from importlib import import_module

from django.conf import settings
from django.contrib import auth
from django.contrib.auth.hashers import make_password
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
    """Somebody else took the name after the form was checked."""


class LinkRefused(Exception):
    """The login link is forged, expired or used."""


def sign_up(request: HttpRequest, username: str, password: str) -> User:
    """Create the account and log its owner in.

    Raises:
        NameTaken: if two people chose the same name at the same time.
        TooOften: if too many passwords are being hashed.
    """
    hashed = make_password(password)  # before the transaction, because it takes long
    try:
        with transaction.atomic():
            user = User.objects.create(username=User.normalize_username(username), password=hashed)
    except IntegrityError as error:
        raise NameTaken(username) from error
    log_in(request, user)
    return user


def log_in(request: HttpRequest, user: User) -> None:
    """Begin a session for `user`, and move the episodes that they played in this browser to their account."""
    visitor = visitors.known(request)
    with transaction.atomic():
        auth.login(request, user, backend=_BACKEND)
        visitors.join(user, visitor)


def change_password(request: HttpRequest, user: User, password: str) -> None:
    """Set a new password and end the sessions of all other browsers."""
    user.set_password(password)
    user.save(update_fields=["password"])
    auth.update_session_auth_hash(request, user)


def set_default_visibility(
    user: User, default_visibility: str | None = None, agent_visibility: str | None = None
) -> None:
    """Set the visibility of what somebody begins or adds from now on without choosing one. None leaves it as it is."""
    given = {"default_visibility": default_visibility, "agent_visibility": agent_visibility}
    chosen = {name: value for name, value in given.items() if value is not None}
    if chosen:
        User.objects.filter(pk=user.pk).update(**chosen)
    user.refresh_from_db(fields=list(given))


def set_named(user: User, is_named: bool) -> None:
    """Set whether leaderboards and daily seeds show somebody's name."""
    User.objects.filter(pk=user.pk).update(is_named=is_named)
    user.is_named = is_named


def delete_expired_sessions() -> None:
    """Delete expired sessions. Django does not do this by itself, and every visitor who plays has a session."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()


def make_login_link() -> str:
    """A token that logs in as `admin`, once, within 15 minutes. Using it invalidates all earlier tokens."""
    user = User.objects.filter(username=LINK_USER).first()
    return signing.dumps({"after": _last_login(user)}, salt=_SALT)


def use_login_link(request: HttpRequest, token: str) -> User:
    """Log in as `admin`, and create this user at the first use.

    Raises:
        LinkRefused: if the token is forged, older than 15 minutes, or used.
    """
    last_login = _read_token(token)
    with transaction.atomic():
        user, created = User.objects.select_for_update().get_or_create(
            username=LINK_USER, defaults={"is_staff": True, "is_superuser": True}
        )
        if created:
            user.set_unusable_password()
        if _last_login(user) != last_login:
            raise LinkRefused(token)
        user.last_login = timezone.now()
        user.save()
        log_in(request, user)
    return user


def check_login_link(token: str) -> None:
    """Check that the link would work now, without using it.

    Raises:
        LinkRefused: see `use_login_link`.
    """
    if _last_login(User.objects.filter(username=LINK_USER).first()) != _read_token(token):
        raise LinkRefused(token)


def _read_token(token: str) -> str:
    """The time of the last login that the token was made for."""
    try:
        return str(signing.loads(token, salt=_SALT, max_age=LINK_LIFETIME)["after"])
    except signing.BadSignature as error:
        raise LinkRefused(token) from error


def _last_login(user: User | None) -> str:
    """The time of the last login. A link is bound to it, so any login invalidates the link."""
    return user.last_login.isoformat() if user and user.last_login else ""
