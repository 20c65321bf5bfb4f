"""Who may see what: the one place that decides about episodes, duels, jobs, trainings, agents and checkpoints.

`public` is listed, and everybody may read it. `unlisted` is open to whoever has the address, and in no list, search or
count of other people. `private` is for its owner, the people seated in it, and staff; for everybody else there is no
such thing, so they get a 404. What administrators have hidden (`hidden_reason`) is for its owner and staff, whatever
its visibility. Every view and every socket reads its rows through one of the two methods of
`VisibleQuerySet`: `visible_to` for a page whose address is known, `listed_for` for lists, searches, counts and exports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar

from django import forms
from django.contrib import messages
from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db import models
from django.db.models import Q

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from django.http import HttpRequest

Row = TypeVar("Row", bound=models.Model)
Person: TypeAlias = AbstractUser | AnonymousUser
"""Somebody who looks at a page, with or without an account."""


class Visibility(models.TextChoices):
    """From the most open to the most closed."""

    PUBLIC = "public", "public"
    UNLISTED = "unlisted", "unlisted"
    PRIVATE = "private", "private"

    @property
    def sentence(self) -> str:
        """What it means, for forms."""
        return _SENTENCES[self]

    @property
    def named(self) -> str:
        """Its name and what it means, for forms."""
        return f"{self.value}: {self.sentence}"


_SENTENCES = {
    Visibility.PUBLIC: "listed, and everybody can see it",
    Visibility.UNLISTED: "not listed, but everybody with the link can see it",
    Visibility.PRIVATE: "only you and the administrators of this site",
}
CHOICES = [(visibility.value, visibility.named) for visibility in Visibility]
"""The choices of forms, each with its meaning."""


_ORDER = {visibility.value: place for place, visibility in enumerate(Visibility)}


def narrower(*visibilities: str) -> Visibility:
    """The most closed of these."""
    return Visibility(max(visibilities, key=_ORDER.__getitem__))


def as_open_as(visibility: str) -> list[Visibility]:
    """This visibility and all that are more open."""
    order = list(Visibility)
    return order[: order.index(Visibility(visibility)) + 1]


def column(default: Visibility = Visibility.PUBLIC) -> models.CharField[str, str]:
    """The column of a model that has a visibility of its own."""
    return models.CharField(max_length=8, choices=Visibility.choices, default=default, db_default=default.value)


class VisibleQuerySet(models.QuerySet[Row]):
    """Rows with a visibility: what somebody may open, and what lists may show them."""

    governed_by: ClassVar[Sequence[str]] = ("visibility",)
    """The columns that hold the visibility, here or in related rows, of which the most closed one counts."""

    def owned_by(self, user: Person, visitor: str) -> Q:
        """A filter for the rows of this person, who has an account or the key of a visitor, or neither."""
        raise NotImplementedError  # every model has its own; a class of managers cannot be abstract

    def is_shown(self) -> Q:
        """A filter for the rows that administrators have not hidden, by themselves or with what they belong to."""
        return Q(hidden_reason="")

    def hidden(self) -> Self:
        """Rows that administrators have hidden."""
        return self.exclude(self.is_shown())

    def hidden_from(self, user: Person, visitor: str = "") -> Self:
        """Hidden rows that this person may not open."""
        return self.none() if user.is_staff else self.hidden().exclude(self.owned_by(user, visitor))

    def visible_to(self, user: Person, visitor: str = "") -> Self:
        """Rows whose pages this person may open if they know the address."""
        if user.is_staff:
            return self.all()
        return self.filter(self._open(Visibility.UNLISTED) | self.owned_by(user, visitor))

    def listed_for(self, user: Person, visitor: str = "") -> Self:
        """Rows that lists, searches, counts and exports may show to this person. Staff get what others get."""
        return self.filter(self._open(Visibility.PUBLIC) | self.owned_by(user, visitor))

    def owned(self, user: Person, visitor: str = "") -> Self:
        """Rows of this person."""
        return self.filter(self.owned_by(user, visitor))

    def published(self) -> Self:
        """Rows that everybody finds, for what is the same for everybody, such as a ranking."""
        return self.filter(self._open(Visibility.PUBLIC))

    def _open(self, most_closed: Visibility) -> Q:
        """A filter for the rows that are at least as open as this and not hidden."""
        return self._within(most_closed) & self.is_shown()

    def _within(self, most_closed: Visibility) -> Q:
        """A filter for the rows that are at least as open as this."""
        allowed = as_open_as(most_closed)
        condition = Q()
        for name in self.governed_by:
            is_open = Q(**{f"{name}__in": allowed}) if len(allowed) > 1 else Q(**{name: allowed[0]})
            condition &= is_open | Q(**{f"{name}__isnull": True}) if "__" in name else is_open
        return condition


Claim: TypeAlias = "Callable[[Person, str], Q]"
"""A filter for the rows that somebody owns for one reason, such as having started a show."""


class VisibilityField(forms.ChoiceField):
    """The choice on a form that begins something. Without a choice, the default of the account counts."""

    def __init__(self, label: str = "Visibility", **options: Any) -> None:
        super().__init__(
            label=label,
            choices=CHOICES,
            required=False,
            error_messages={"invalid_choice": "Choose public, unlisted or private."},
            **options,
        )


def no_such_choice(choices: Sequence[Visibility]) -> str:
    """The sentence for somebody who chose something else."""
    return f"Here you can choose {' or '.join(choice.label for choice in choices)}. Nothing was changed."


def save_choice(
    request: HttpRequest, save: Callable[[Visibility], object], choices: Sequence[Visibility] = tuple(Visibility)
) -> None:
    """Save what the owner of a row has chosen on its page, and tell them; nothing if it is none of the choices."""
    chosen = request.POST.get("visibility", "")
    if chosen not in choices:
        messages.error(request, no_such_choice(choices))
        return
    visibility = Visibility(chosen)
    save(visibility)
    messages.success(request, f"Saved. {visibility.label.capitalize()} means: {visibility.sentence}.")
