"""The forms of endpoint agents and of uploads."""

from __future__ import annotations

import json
import re
from typing import Any

from django import forms
from django.db.models import Case, Q, When
from pydantic import SecretStr

from apps.accounts.models import User, Viewer
from apps.agents.models import ASKED, LETTERS, NATURE_OF_KIND, Agent, AgentQuerySet, Endpoint
from apps.agents.operations import Declaration
from apps.names import validate_free_name
from apps.spec_forms import JsonObjectField, SpecForm, number_field
from apps.visibility import Visibility, VisibilityField
from gem.agents.endpoint import EndpointSpec

AREA = forms.Textarea(attrs={"rows": 4, "spellcheck": "false"})
PRICES = ("price_in", "price_out")
_FIELDS = EndpointSpec.model_fields


def _number(label: str, help_text: str = "", *, whole: bool = True, required: bool = False) -> forms.Field:
    invalid = "Enter a whole number, for example 20." if whole else "Enter a number, for example 0.6."
    return number_field(
        label, whole=whole, required=required, help_text=help_text, inputmode="decimal", invalid=invalid, maxlength=20
    )


class EndpointForm(SpecForm[EndpointSpec]):
    """The form of an endpoint agent. After validation, `spec` is its set-up and `key_entered` the entered key."""

    spec_model = EndpointSpec

    name = forms.CharField(
        max_length=80,
        help_text="Shown on all pages.",
        error_messages={"required": "Give it a name, for example qwen3-4b."},
    )
    url = forms.CharField(
        label="Address",
        max_length=500,
        help_text="The part before /chat/completions, such as http://127.0.0.1:8001/v1.",
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off", "spellcheck": "false"}),
        error_messages={"required": "Enter the address of the server, for example http://127.0.0.1:8001/v1."},
    )
    model = forms.CharField(
        max_length=200,
        help_text="The name of the model on that server.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        error_messages={"required": "Enter the model's name as the server knows it."},
    )
    key = forms.CharField(
        label="Key",
        max_length=2000,
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )
    forget_key = forms.BooleanField(label="Delete the stored key", required=False)
    visibility = VisibilityField(
        help_text="Everybody with an account who can see it can let it play, with your key. Its name is shown "
        "wherever it plays; its address and key never are, and only you can edit it."
    )

    system = forms.CharField(label="System message", max_length=20_000, required=False, widget=AREA)
    template = forms.CharField(
        label="Message of each turn",
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text="{observation} is what the environment shows. {turn}, {max_turns} and {env_id} are also replaced.",
        error_messages={"required": "Enter at least {observation}."},
    )
    history = _number(
        "Earlier turns", "How many to include in each request. Leave empty for all. The rules are always included."
    )
    style = forms.ChoiceField(
        label="Answer format",
        choices=[("text", "text: the answer is the action"), ("tools", "native tool calls")],
        help_text="As text, tools are called with their tags.",
    )
    images = forms.BooleanField(
        label="Send images", required=False, help_text="For environments that have images and models that accept them."
    )

    temperature = _number("Temperature", "0 to 2", whole=False)
    top_p = _number("Top p", "Above 0, up to 1", whole=False)
    max_tokens = _number("Token limit per turn", "Including reasoning.")
    max_tokens_field = forms.ChoiceField(
        label="Request field of this limit",
        choices=[("max_tokens", "max_tokens"), ("max_completion_tokens", "max_completion_tokens")],
        required=False,
    )
    seed = _number("Sampling seed", "Sent to the server.")
    stop = forms.CharField(
        label="Stop sequences",
        max_length=500,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text="Up to four, one per line.",
    )
    more = JsonObjectField(
        label="Further fields",
        max_length=8192,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text='JSON that is added to each request, such as {"reasoning_effort": "low"}.',
        error_messages={
            "broken": "This is not JSON: %(error)s.",
            "no_object": 'This must be an object, such as {"top_k": 20}.',
        },
    )

    timeout = _number("Request timeout in seconds", whole=False, required=True)
    on_failure = forms.ChoiceField(
        label="If no answer comes",
        choices=[
            ("retry", "try again until the turn timeout; then the episode is not counted"),
            ("forfeit", "send an empty action after the last try"),
            ("stop", "stop the episode or job after the last try"),
        ],
    )
    tries = _number("Tries", "Requests per turn. Unused if it tries again until the turn timeout.", required=True)
    patience = _number("Turn timeout in seconds", "For all tries and the pauses.", whole=False, required=True)
    concurrency = _number("Concurrency", "Requests at a time, per worker.", required=True)
    stream = forms.BooleanField(label="Stream answers token by token", required=False)
    price_in = _number("Price per million input tokens", "Optional, in your currency.", whole=False)
    price_out = _number("Price per million output tokens", whole=False)

    def __init__(self, *args: Any, stored: Endpoint | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stored = stored
        has_key = stored is not None and bool(stored.sealed_key)
        self.fields["key"].help_text = (
            f"A key for {stored.host} is stored and never shown. Leave empty to keep it. Changing the server deletes "
            f"it."
            if has_key and stored is not None
            else "Leave empty if the server needs none. The key is stored encrypted and never shown again."
        )
        if not has_key:
            del self.fields["forget_key"]

    @property
    def key_entered(self) -> SecretStr:
        """The key that was entered; may be empty."""
        return SecretStr(str(self.cleaned_data.get("key", "")).strip())

    def clean_name(self) -> str:
        """Check the name, unless it stays as it is."""
        name: str = self.cleaned_data["name"]
        if self.stored is None or name != self.stored.agent.name:
            validate_free_name(name)
        return name

    def clean(self) -> dict[str, Any]:
        """Validate the specification even if a field has an error, so that all errors are shown at once."""
        values = super().clean() or {}
        self.validate_spec(_spec_values(values))
        return values

    def field_of(self, place: str) -> str | None:
        """See `SpecForm.field_of`. Each of the two prices has a form field of its own."""
        if place.startswith("prices"):
            return "price_out" if place == "prices.tokens_out" else "price_in"
        return super().field_of(place)

    def labels(self) -> dict[str, str]:
        """See `SpecForm.labels`. The specification holds both prices in one field."""
        labels = super().labels()
        return {**labels, "prices.tokens_in": labels["price_in"], "prices.tokens_out": labels["price_out"]}

    def ask_for_key_again(self) -> None:
        """Show a hint that the key must be entered again, because the page never contains it."""
        self["key"].help_text = "The key that you entered is not shown again. Enter it once more."


class FactsForm(forms.Form):
    """What the owner of an agent says about it, and whether it plays the daily seed."""

    nature = forms.ChoiceField(label="Kind of agent", choices=Agent.Nature.choices, required=False)
    parameters = forms.CharField(
        label="Parameters",
        max_length=20,
        required=False,
        help_text="Of the model, such as 350M or 4B. Leave empty if it is not known.",
    )
    openness = forms.ChoiceField(label="Weights", choices=Agent.Openness.choices, required=False)
    plays_daily = forms.BooleanField(
        label="Let it play the daily seed",
        required=False,
        help_text="Once a day, at your cost, if it is public. Its name and its result are then on the page of the day.",
    )

    def __init__(self, agent: Agent, data: Any = None) -> None:
        shown = {
            "nature": agent.nature,
            "parameters": agent.size_in_words,
            "openness": agent.openness,
            "plays_daily": agent.plays_daily,
        }
        super().__init__(data, initial=shown)
        if not agent.is_asked:
            for name in ("nature", "parameters", "openness"):
                del self.fields[name]

    def clean_parameters(self) -> int | None:
        """Read a number with or without a letter: 1,100,000, 1.1M, 4B."""
        text = self.cleaned_data["parameters"].replace(",", "").strip().upper()
        if not text:
            return None
        matched = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?)([KMBT]?)", text, re.ASCII)
        if matched is None or not 0 < (count := round(float(matched[1]) * LETTERS[matched[2]])) < 2**60:
            raise forms.ValidationError("Enter a number such as 350M or 4B, or leave it empty.")
        return count

    @property
    def said(self) -> Declaration:
        """The values of a valid form."""
        return Declaration(**self.cleaned_data)


class ListForm(forms.Form):
    """The filters of the list of agents. An invalid value filters nothing."""

    q = forms.CharField(label="Name", max_length=80, required=False)
    nature = forms.ChoiceField(
        label="Kind",
        required=False,
        choices=[("", "any"), ("model", "models"), ("program", "programs"), ("person", "people")],
    )
    size = forms.ChoiceField(
        label="Size",
        required=False,
        choices=[("", "any"), ("small", "up to 1B"), ("medium", "1B to 10B"), ("large", "above 10B")],
    )
    weights = forms.ChoiceField(
        label="Weights", required=False, choices=[("", "any"), ("open", "open"), ("closed", "closed")]
    )
    answers = forms.ChoiceField(
        label="Tools", required=False, choices=[("", "any"), ("tools", "calls tools natively"), ("text", "as text")]
    )
    owner = forms.CharField(label="Owner", max_length=40, required=False)

    def agents(self, viewer: Viewer) -> AgentQuerySet:
        """The agents that match and that a list may show to this person, the site's own first, then the newest."""
        self.is_valid()
        values = self.cleaned_data
        rows = Agent.objects.named_to(viewer).filter(listed=True).select_related("owner", "endpoint", "weights")
        if values.get("q"):
            rows = rows.filter(name__icontains=values["q"])
        if values.get("owner"):
            rows = rows.filter(owner__username__iexact=values["owner"])
        if values.get("nature"):
            rows = rows.filter(is_of_nature(values["nature"]))
        if values.get("size"):
            least, most = _SIZES[values["size"]]
            rows = rows.filter(parameters__gt=least, parameters__lte=most)
        if values.get("weights"):
            rows = rows.filter(has_weights(is_open=values["weights"] == "open"))
        if values.get("answers"):
            rows = rows.filter(endpoint__spec__style=values["answers"])
        return rows.order_by(Case(When(owner=None, then=0), default=1), "-created", "pk")


_SIZES = {"small": (0, 10**9), "medium": (10**9, 10**10), "large": (10**10, 2**62)}


def is_of_nature(nature: str) -> Q:
    """A filter for agents that are models, programs or people."""
    kinds = [kind for kind, of_kind in NATURE_OF_KIND.items() if of_kind == nature]
    said = ["", nature] if nature == Agent.Nature.MODEL else [nature]
    return Q(kind__in=kinds) | Q(kind__in=ASKED, declared_nature__in=said)


def has_weights(*, is_open: bool) -> Q:
    """A filter for agents whose weights are open or closed: of checkpoints, the public ones are open."""
    of_checkpoints = Q(visibility=Visibility.PUBLIC) if is_open else ~Q(visibility=Visibility.PUBLIC)
    said = Agent.Openness.OPEN if is_open else Agent.Openness.CLOSED
    return Q(of_checkpoints, kind=Agent.Kind.CHECKPOINT) | Q(kind__in=ASKED, openness=said)


class UploadForm(forms.Form):
    """The form of an upload. A worker checks the contents of the file later."""

    file = forms.FileField(
        label="Archive",
        allow_empty_file=True,
        widget=forms.FileInput(attrs={"accept": ".zip,.tar,.gz,.tgz,.bz2,.xz"}),
        error_messages={"required": "Choose a zip or tar file, such as a checkpoint's download."},
    )
    name = forms.CharField(
        max_length=80,
        required=False,
        help_text="Shown on all pages. Leave empty to use the name of its recipe.",
        validators=[validate_free_name],
    )
    visibility = VisibilityField(
        help_text="Everybody who can see it can download it and, with an account, let it play. Its name is shown "
        "wherever it plays."
    )


def initial(owner: User, stored: Endpoint | None = None) -> dict[str, Any]:
    """The initial form values: the defaults of the specification and of the owner, or the set-up of a stored agent."""
    if stored is None:
        defaults = {name: field.get_default(call_default_factory=True) for name, field in _FIELDS.items()}
        return {**_form_values(defaults), "url": "", "model": "", "visibility": owner.agent_visibility}
    values = _form_values(EndpointSpec.model_validate(stored.spec).model_dump(mode="json"))
    return {**values, "name": stored.agent.name, "visibility": stored.agent.visibility}


def _form_values(values: dict[str, Any]) -> dict[str, Any]:
    prices = values.pop("prices", None) or {}
    integers = {name: int(value) for name, value in values.items() if isinstance(value, float) and value.is_integer()}
    return {
        **values,
        **integers,
        "stop": "\n".join(values["stop"]),
        "more": json.dumps(values["more"]) if values["more"] else "",
        "price_in": prices.get("tokens_in"),
        "price_out": prices.get("tokens_out"),
    }


def _spec_values(values: dict[str, Any]) -> dict[str, Any]:
    """The values of the specification from those of the form. Empty fields are left out: the server has defaults."""
    spec_values = {name: values[name] for name in _FIELDS if name in values and values[name] is not None}
    spec_values["stop"] = [line.replace("\\n", "\n") for line in values.get("stop", "").splitlines() if line]
    spec_values["max_tokens_field"] = values.get("max_tokens_field") or "max_tokens"
    spec_values |= {name: values.get(name, "").replace("\r\n", "\n") for name in ("system", "template")}
    price_in, price_out = (values.get(name) for name in PRICES)
    if price_in is not None or price_out is not None:
        spec_values["prices"] = {"tokens_in": price_in or 0.0, "tokens_out": price_out or 0.0}
    return spec_values
