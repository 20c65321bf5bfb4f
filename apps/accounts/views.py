"""Signing up, logging in and out."""

import math
import shlex

from django.conf import settings
from django.contrib import auth, messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.shortcuts import redirect, render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from apps.accounts import limits, operations, personal_data, quotas, visitors
from apps.accounts.forms import DeleteForm, LogInForm, PasswordForm, SignUpForm, VisibilityForm, password_rules
from apps.accounts.invitations import may_sign_up, token_of
from apps.accounts.lanes import hashes_passwords
from apps.accounts.models import User
from apps.downloads import download, whole
from apps.htmx import wants_part
from apps.live import end_session

LOOPBACK = {"127.0.0.1", "::1"}


@hashes_passwords
@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "POST"])
def login(request: HttpRequest) -> HttpResponse:
    """Log in and redirect to `next`."""
    if request.user.is_authenticated:
        return HttpResponseRedirect(next_url(request))
    if wants_part(request):  # of a page that has stayed open since its session ended
        page = HtmxDetails(request).current_url_abs_path or next_url(request)
        return HttpResponseClientRedirect(redirect_to_login(page).url)
    form = LogInForm(request, data=request.POST or None)
    wait = 0.0
    try:
        if request.method == "POST" and form.is_valid():
            user = form.get_user()
            assert isinstance(user, User)
            operations.log_in(request, user)
            return limits.remember_browser(request, HttpResponseRedirect(next_url(request)))
    except limits.TooOften as refusal:
        form.add_error(None, str(refusal))
        wait = refusal.wait
    return _with_wait(render(request, "accounts/login.html", gate(request, form)), wait)


@hashes_passwords
@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "POST"])
def signup(request: HttpRequest) -> HttpResponse:
    """Create an account and log in. Where sign-ups are not open, it takes an invitation."""
    if request.user.is_authenticated:
        return HttpResponseRedirect(next_url(request))
    if not may_sign_up(request):
        refused = {"next": next_url(request), "had_invitation": bool(token_of(request))}
        return render(request, "accounts/by_invitation.html", refused, status=403)
    form = SignUpForm(data=request.POST or None)
    wait = 0.0
    if request.method == "POST" and form.is_valid():
        try:
            limits.check_sign_up(request)
            operations.sign_up(request, form.cleaned_data["username"], form.cleaned_data["password"])
        except operations.NameTaken:
            form.add_error("username", "This name is taken. Choose another one.")
        except limits.TooOften as refusal:
            form.add_error(None, str(refusal))
            wait = refusal.wait
        else:
            return limits.remember_browser(request, HttpResponseRedirect(next_url(request)))
    context = {**gate(request, form), "rules": password_rules(), "invitation": token_of(request)}
    page = render(request, "accounts/signup.html", context)
    return _with_wait(page, wait)


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    """End the session and close its WebSockets."""
    session_key = request.session.session_key
    auth.logout(request)
    end_session(session_key)
    messages.info(request, "You have logged out.")
    return redirect(settings.LOGOUT_REDIRECT_URL)


@hashes_passwords
@sensitive_post_parameters()
@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """The account page of the person who is logged in, with the form to change the password."""
    assert isinstance(request.user, User)
    form = PasswordForm(request.user, data=request.POST or None)
    if request.method == "POST":
        try:
            limits.check_password_change(request.user)  # before the comparison, so that wrong passwords count
            if form.is_valid():
                operations.change_password(request, request.user, form.cleaned_data["new"])
                messages.info(request, "Password changed. All other browsers were logged out.")
                return redirect("accounts:account")
        except limits.TooOften as refusal:
            form = PasswordForm(request.user)
            context = _account_page(request.user, form) | {"refused": str(refusal)}
            return _with_wait(render(request, "accounts/account.html", context), refusal.wait)
    return render(request, "accounts/account.html", _account_page(request.user, form))


def _account_page(user: User, form: PasswordForm | None = None) -> dict[str, object]:
    defaults = {"default_visibility": user.default_visibility, "agent_visibility": user.agent_visibility}
    return {
        "form": form or PasswordForm(user),
        "rules": password_rules(),
        "visibility": VisibilityForm(initial=defaults),
        "uses": quotas.uses(user),
    }


@login_required
@require_POST
def visibility(request: HttpRequest) -> HttpResponse:
    """Set the visibility that new objects of this person have. Existing objects keep theirs."""
    assert isinstance(request.user, User)
    form = VisibilityForm(request.POST)
    if form.is_valid():
        operations.set_default_visibility(request.user, **form.cleaned_data)
        messages.success(request, "Saved. It applies to what you start from now on.")
    else:
        messages.error(request, "Choose public, unlisted or private. Nothing was changed.")
    return redirect("accounts:account")


@login_required
@require_POST
def named(request: HttpRequest) -> HttpResponse:
    """Set whether leaderboards and daily seeds show this person's name. It counts at once, for earlier results too."""
    assert isinstance(request.user, User)
    operations.set_named(request.user, request.POST.get("is_named") == "on")
    sentence = "show your name" if request.user.is_named else "do not show your name"
    messages.success(request, f"Saved. Leaderboards and daily seeds {sentence}.")
    return HttpResponseRedirect(next_url(request)) if "next" in request.POST else redirect("accounts:account")


@never_cache
@login_required
@require_safe
def export(request: HttpRequest) -> HttpResponseBase:
    """Download everything that belongs to the account as one zip archive."""
    assert isinstance(request.user, User)
    try:
        limits.check_export(request.user)
    except limits.TooOften as refusal:
        messages.error(request, str(refusal))
        return _with_wait(render(request, "accounts/account.html", _account_page(request.user)), refusal.wait)
    return archive_of(request, request.user)


def archive_of(request: HttpRequest, user: User) -> StreamingHttpResponse:
    """The download of everything that belongs to an account, which is written while it is sent."""
    pieces = whole(personal_data.archive_of(user), User.objects.filter(pk=user.pk, closed=None))
    return download(request, pieces, f"gemweb-{user.pk}.zip", "application/zip")


@hashes_passwords
@sensitive_post_parameters()
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest) -> HttpResponse:
    """Delete the account, after the page has said what goes and what stays, and the password was typed."""
    assert isinstance(request.user, User)
    user = request.user
    form = DeleteForm(user, data=request.POST or None)
    wait = 0.0
    if request.method == "POST":
        try:
            limits.check_password_change(user)
            if form.is_valid():
                session_key = request.session.session_key
                personal_data.close(user)
                auth.logout(request)
                end_session(session_key)
                messages.info(request, "Your account is deleted. Its data will be removed within minutes.")
                return redirect("site:home")
        except limits.TooOften as refusal:
            form = DeleteForm(user)
            form.refuse(str(refusal))
            wait = refusal.wait
    context = {"form": form, "parts": personal_data.parts()}
    page = render(request, "accounts/delete.html", context, status=422 if form.is_bound and form.errors else 200)
    return _with_wait(page, wait)


@never_cache
@require_http_methods(["GET", "POST"])
def login_link(request: HttpRequest, token: str) -> HttpResponse:
    """Log in as the administrator of a local stack. A GET shows the button; only its POST uses the link up."""
    if not settings.LOCAL_MODE or request.META.get("REMOTE_ADDR") not in LOOPBACK:
        raise Http404
    try:
        if request.method == "GET":
            operations.check_login_link(token)
            return render(request, "accounts/login_link.html")
        operations.use_login_link(request, token)
    except operations.LinkRefused:
        stack = f"PORT={settings.PORT} STATE_DIR={shlex.quote(str(settings.STATE_DIR))}"
        command = f"{stack} .venv/bin/python -m gemweb.local.manage login_link"
        return render(request, "accounts/login_link.html", {"refused": True, "command": command}, status=403)
    return redirect(settings.LOGIN_REDIRECT_URL)


def _with_wait(page: HttpResponse, wait: float) -> HttpResponse:
    """The page, with status 429 and `Retry-After` if there is a time to wait."""
    if wait > 0:
        page.status_code = 429
        page["Retry-After"] = str(math.ceil(wait))
    return page


def gate(request: HttpRequest, form: LogInForm | SignUpForm) -> dict[str, object]:
    """The template context of the login and sign-up pages."""
    return {
        "form": form,
        "next": next_url(request),
        "has_played": bool(visitors.known(request)),
        "may_sign_up": may_sign_up(request),
    }


def next_url(request: HttpRequest) -> str:
    """The address to go to after logging in: `next` if it is on this site, else the home page."""
    address = request.POST.get("next", request.GET.get("next", ""))
    is_internal = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if is_internal else resolve_url(settings.LOGIN_REDIRECT_URL)
