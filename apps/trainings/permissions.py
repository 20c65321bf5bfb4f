"""What a request for a training may read, write and contact outside of this site.

In local mode everything is allowed. On a site with many people, only the accounts of staff may name files and addresses
of the server, because these people have access to the machine anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings

from apps.accounts.models import Viewer
from gem.tools import tool_catalog
from gem.training.built_in_policies import BUILT_IN_POLICIES

AGENT = "agent:"
"""The prefix of a `model` that names an agent of this site, whose weights the training starts from."""
ON_A_HUB = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
FILES = {"products", "attributes"}
"""Arguments of environments that name files. Datasets are read from the data folder alone (`GEM_DATA_FROM`)."""
ONLY_STAFF = "only administrators of this site may"


def refusals(owner: Viewer, request: Mapping[str, Any]) -> list[str]:
    """A sentence for each part of a request that `owner` is not allowed; none in local mode.

    Call it before the request is validated, because validation creates the environment with its arguments.
    """
    if settings.LOCAL_MODE or getattr(owner, "is_staff", False):
        return []
    return [*_policy(request), *_environments(request), *_wrappers(request)]


def _policy(request: Mapping[str, Any]) -> Iterator[str]:
    model = str(request.get("model") or "")
    if model and not model.startswith(AGENT) and not ON_A_HUB.fullmatch(model):
        ours = ", ".join(BUILT_IN_POLICIES)
        yield f"{model}: {ONLY_STAFF} use a server folder. Name {ours}, a model on a hub, or a checkpoint here."
    if request.get("server_url"):
        yield f"server_url: {ONLY_STAFF} set it. Leave it and the sampler out."


def _environments(request: Mapping[str, Any]) -> Iterator[str]:
    stages = request.get("curriculum")
    played = [request, *(stages if isinstance(stages, list | tuple) else ())]
    arguments = [stage.get("env_kwargs") for stage in played if isinstance(stage, Mapping)]
    for some in [*arguments, request.get("held_out_kwargs")]:
        for name in FILES.intersection(some if isinstance(some, Mapping) else ()):
            yield f"{name}: {ONLY_STAFF} use this argument, which names a file of the server. Leave it out."


def _wrappers(request: Mapping[str, Any]) -> Iterator[str]:
    wrappers = request.get("wrappers")
    for wrapper in wrappers if isinstance(wrappers, list | tuple) else ():
        if not isinstance(wrapper, Mapping):
            continue
        if wrapper.get("name") == "record":
            yield f"record: {ONLY_STAFF} use this wrapper, which writes a file. Leave it out: episodes are kept anyway."
        if wrapper.get("tokenizer"):
            yield f"tokenizer: {ONLY_STAFF} use this argument, which reads a folder of the server. Leave it out."
        if "tools" in wrapper and not tool_catalog.names_of({"name": "tools", "tools": _harmless(wrapper["tools"])}):
            yield f"tools: {ONLY_STAFF} use a tool with its own arguments. Name tools of this site, such as python."


def _harmless(tools: Any) -> Any:
    """The tools of a wrapper without what anybody may set: how many passages a search returns."""
    if not isinstance(tools, list | tuple):
        return tools
    return [
        {name: value for name, value in tool.items() if name != "topk"} if isinstance(tool, Mapping) else tool
        for tool in tools
    ]
