"""Pages about the API: the tokens of a person, which the account page shows too, and the reference."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.models import User
from apps.api import operations
from apps.api.document import reference
from apps.api.models import ApiToken
from apps.api.operations import TooManyTokens
from apps.api.token_forms import TokenForm
from apps.htmx import wants_part


@sensitive_variables("secret")
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """A person's API tokens, and the form for another one. Its secret is shown once, in the response to the form."""
    assert isinstance(request.user, User)
    form, secret, status = TokenForm(request.POST or None), "", 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            chosen = form.cleaned_data
            try:
                _, secret = operations.make_token(request.user, chosen["name"], chosen["scopes"], form.lifetime)
                form, status = TokenForm(), 200
            except TooManyTokens as refusal:
                form.add_error(None, str(refusal))
    context = {"form": form, "secret": secret, "tokens": ApiToken.objects.filter(user=request.user)}
    if wants_part(request):
        return render(request, "api/tokens.html#tokens", context)  # htmx shows only what comes with status 200
    return render(request, "api/tokens.html", context, status=status)


@require_POST
@login_required
def revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """Revoke a token of your own."""
    assert isinstance(request.user, User)
    if operations.revoke_token(request.user, token_id):
        messages.info(request, "The token is revoked. Programs that use it no longer have access.")
    else:
        messages.info(request, "This token was revoked already.")
    return redirect("accounts:account")


@require_safe
def rest(request: HttpRequest) -> HttpResponse:
    """The reference of the REST API: every operation with its parameters, its body and its answer."""
    return render(request, "api/rest.html", {"sections": reference.sections()})
