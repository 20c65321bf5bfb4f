"""What a training may read, write and ask beyond its site.

On one's own machine that is anything. On a site of many people a request names no files and no addresses of the server,
unless it comes from one of those who run the site: their accounts can log in to the machine anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings

from apps.accounts.models import Viewer
from gem.tools import tool_catalog

AGENT = "agent:"
"""Begins the `model` of a training that goes on with the weights of an agent of this site."""
ON_A_HUB = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
FILES = {"products", "attributes"}
"""Arguments of environments that name files. Datasets are read from the data folder alone (`GEM_DATA_FROM`)."""
ONLY_STAFF = "only the people who run this site may"


def refusals(owner: Viewer, wanted: Mapping[str, Any]) -> list[str]:
    """A sentence for each part of a request that reaches further than `owner` may; none on one's own machine.

    It is asked before a request is validated, because that makes the environment with everything that is named.
    """
    if settings.LOCAL_MODE or getattr(owner, "is_staff", False):
        return []
    return [*_policy(wanted), *_environments(wanted), *_wrappers(wanted)]


def _policy(wanted: Mapping[str, Any]) -> Iterator[str]:
    model = str(wanted.get("model") or "")
    if model and not model.startswith(AGENT) and not ON_A_HUB.fullmatch(model):
        yield f"{model}: {ONLY_STAFF} use a server folder. Name nano-base, a model on a hub, or a checkpoint here."
    if wanted.get("server_url"):
        yield f"server_url: {ONLY_STAFF} set it. Leave it and the sampler out."


def _environments(wanted: Mapping[str, Any]) -> Iterator[str]:
    stages = wanted.get("curriculum")
    for stage in [wanted, *(stages if isinstance(stages, list | tuple) else ())]:
        arguments = stage.get("env_kwargs") if isinstance(stage, Mapping) else None
        for name in FILES.intersection(arguments if isinstance(arguments, Mapping) else ()):
            yield f"{name}: {ONLY_STAFF} use this argument, which names a file of the server. Leave it out."


def _wrappers(wanted: Mapping[str, Any]) -> Iterator[str]:
    wrappers = wanted.get("wrappers")
    for wrapper in wrappers if isinstance(wrappers, list | tuple) else ():
        if not isinstance(wrapper, Mapping):
            continue
        if wrapper.get("name") == "record":
            yield f"record: {ONLY_STAFF} use this wrapper, which writes a file. Leave it out: episodes are kept anyway."
        if wrapper.get("tokenizer"):
            yield f"tokenizer: {ONLY_STAFF} use this argument, which reads a folder of the server. Leave it out."
        if "tools" in wrapper and not tool_catalog.names_of({"name": "tools", "tools": wrapper["tools"]}):
            yield f"tools: {ONLY_STAFF} use a tool with its own arguments. Name tools of this site, such as python."
