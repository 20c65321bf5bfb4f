"""Trained policies: the download of the weights of one, and the upload of a checkpoint."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts import quotas
from apps.accounts.models import User
from apps.agents import uploads
from apps.agents.forms import UploadForm
from apps.agents.models import Agent, Upload
from apps.agents.operations import TooManyAgents
from apps.downloads import download
from apps.htmx import wants_part
from apps.zips import ExportedFile, content_of, stored_size, streamed
from gem.training.checkpoints.archive import POLICY_FILES
from gem.training.checkpoints.folder_check import ARCHITECTURES


@require_safe
def weights(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Download weights, configuration, tokenizer and card in one archive, which `upload` accepts."""
    agent = Agent.objects.checkpoints().visible_to(request.user).filter(slug=slug).first()
    if agent is None:
        raise Http404("There is no such checkpoint, or it is private.")
    return archive_of(request, agent)


def archive_of(request: HttpRequest, agent: Agent) -> HttpResponseBase:
    """A response that downloads a checkpoint.

    Raises:
        Http404: if its folder is gone.
    """
    if not agent.weights.path.is_dir():
        raise Http404("The files of this checkpoint are gone.")
    paths = {f"{agent.slug}/{path.name}": path for path in sorted(agent.weights.path.iterdir())}
    length = stored_size({name: path.stat().st_size for name, path in paths.items()})
    files = (ExportedFile(name, content_of(path), compressed=False) for name, path in paths.items())
    return download(request, streamed(files), f"{agent.slug}.zip", "application/zip", length)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: HttpRequest) -> HttpResponse:
    """The form that uploads a checkpoint. A worker checks it before it becomes an agent."""
    if not isinstance(request.user, User):
        return redirect_to_login(resolve_url("agents:upload"))
    if request.method != "POST":
        initial = {"name": request.GET.get("name", ""), "visibility": request.user.agent_visibility}
        return _form_page(request, UploadForm(initial=initial))
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _form_page(request, form, status=422)
    values = form.cleaned_data
    try:
        accepted = uploads.accept(request.user, values["name"], values["file"], visibility=values["visibility"])
    except TooManyAgents as refusal:
        form.add_error(None, str(refusal))
        return _form_page(request, form, status=422)
    return redirect(accepted)


@never_cache
@require_safe
def uploaded(request: HttpRequest, slug: str) -> HttpResponse:
    """The state of an upload: waiting or refused. Redirects to the agent once it has become one."""
    mine = {"slug": slug, "owner_id": request.user.pk or 0}
    found = Upload.objects.filter(**mine).first()
    if found is not None:
        template = "agents/uploaded.html" + ("#standing" if wants_part(request) else "")
        return render(
            request,
            template,
            {
                "upload": found,
                "place": uploads.place(found),
                "why_it_waits": quotas.why_checks_wait(found.owner),
            },
        )
    agent = Agent.objects.uploads().filter(**mine).first()
    if agent is None:
        raise Http404("There is no such upload, or it is somebody else's.")
    messages.success(request, f"{agent.name} has played its first turn. You can choose it wherever an agent plays.")
    if wants_part(request):
        return HttpResponse(headers={"HX-Redirect": agent.get_absolute_url()})
    return redirect(agent)


def _form_page(request: HttpRequest, form: UploadForm, *, status: int = 200) -> HttpResponse:
    context = {"form": form, "taken": POLICY_FILES, "architectures": ARCHITECTURES, "most": settings.UPLOAD_MEGABYTES}
    return render(request, "agents/upload.html", context, status=status)
