r"""Solve one problem of geometry from its drawing; the answer counts in whatever form it is written.

Rules:
    One problem with one or more pictures, one answer. The problem alone does not say enough. The seed names it: seed s
    is row s of the data, counted on from the first row after the last one. As long as the data have the same hash,
    that is so for ever.

Actions:
    Any text with the answer in `\boxed{...}`; the last box counts.

    For example `\boxed{12\sqrt{3}}`.

Rewards:
    1 for a correct answer, otherwise 0, also without a box, as in the other environments of mathematics.

Arguments:
    - `dataset`: your own problems, as rows, a file (JSONL, CSV, Parquet, Arrow), `hub:owner/name` or `sample:name`.
    - `question_key`, `answer_key`, `image_key`: the columns, where they are not called problem, answer and images.
      A picture is a `data:` address, bytes, `{"bytes": ...}`, or the path of a file beside the data.

Source:
    Geometry3K (Lu et al. 2021, arXiv 2105.04165) as GEM has it, from the data folder or the Hugging Face hub (`gemweb
    data` says what is there). Where neither has it, a built-in sample stands in: 60 problems with drawings made by us.
    The first info names what is played (docs/datasets.md). `info["images"]` has the pictures as `data:` addresses, for
    agents that can see.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem.core import Info
from gem.datasets.loading import Source
from gem.envs.problems.math import MathEnv
from gem.envs.problems.problem import column
from gem.errors import InvalidData
from gem.views import ImageView, Picture, View
from gem.views.images import data_url

IMAGES = ("images", "image")


class MathVisualEnv(MathEnv):
    """See the module's documentation, which is also the catalog page.

    Args:
        image_key: the column with the pictures; without it, the first of images, image.
    """

    def __init__(
        self,
        dataset: Source,
        split: str = "",
        question_key: str = "",
        answer_key: str = "",
        image_key: str = "",
        seed: int | None = None,
    ) -> None:
        super().__init__(dataset, split, question_key, answer_key, seed)
        self.image_key = column(image_key, IMAGES, self.dataset.columns, "image_key")
        self.images: list[str] = []
        """The pictures of the present problem, as `data:` addresses."""

    def _open(self) -> None:
        super()._open()
        found = self.problem.get(self.image_key) or []
        those = found if isinstance(found, list | tuple) else [found]
        self.images = [_picture(one, self.dataset.source, self.dataset.folder) for one in those]

    def _start(self) -> tuple[str, Info]:
        observation, info = super()._start()
        return observation, {**info, "images": self.images}

    def view(self, seat: int = 0) -> View:
        """As `Env.view`: the drawing, the problem, and what came of the answer."""
        count = len(self.images)
        pictures = [
            Picture(src=src, label=f"The drawing of the problem{f', {number} of {count}' if count > 1 else ''}")
            for number, src in enumerate(self.images, start=1)
        ]
        return ImageView(kind="image", name=self._name(), text=self._picture(), pictures=pictures, facts=self._facts())


def _picture(found: Any, source: str, folder: Path | None) -> str:
    """A picture of a row as a `data:` address.

    Raises:
        InvalidData: if it is none.
    """
    if isinstance(found, Mapping):
        found = found.get("bytes") or found.get("path")
    if isinstance(found, str) and not found.startswith("data:"):
        path = None if folder is None else (folder / found).resolve()
        if path is None or folder is None or not path.is_relative_to(folder.resolve()) or not path.is_file():
            raise InvalidData(f"{source} names the picture {found!r}, which is not beside it.")
        found = path.read_bytes()
    return data_url(found)
