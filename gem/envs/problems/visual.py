r"""Solve one problem of geometry from its drawing; the answer counts in whatever form it is written.

Rules:
    One problem with one or more pictures, one answer. The problem cannot be solved without its pictures. The seed
    selects the problem: seed s is row s of the data, and after the last row the count begins again. A seed always
    selects the same problem, as long as the data have the same hash.

Actions:
    Any text with the answer in `\boxed{...}`; the last box counts.

    For example `\boxed{12\sqrt{3}}`.

Rewards:
    1 for a correct answer; 0 for any other answer, and for none, as in the other environments of mathematics.

Arguments:
    - `dataset`: your own problems, as rows, a file (JSONL, CSV, Parquet, Arrow), `hub:owner/name` or `sample:name`.
    - `question_key`, `answer_key`, `image_key`: the columns, if they are not called problem, answer and images.
      A picture is a `data:` URL, bytes, `{"bytes": ...}`, or the path of a file in the folder of the data.

Source:
    Geometry3K (Lu et al. 2021, arXiv 2105.04165) in GEM's version, from the data folder or the Hugging Face hub
    (`gemweb data` shows what is available). If neither has it, a built-in sample is used instead: 60 problems with our
    own drawings. The first info says which data are used (docs/datasets.md). `info["images"]` has the pictures as
    `data:` URLs, for agents that can process images.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem.core import Info
from gem.datasets.loading import Source
from gem.envs.problems.math import MathEnv
from gem.envs.problems.problem import find_column
from gem.errors import InvalidData
from gem.views import ImageView, Picture, View
from gem.views.images import data_url

IMAGE_COLUMNS = ("images", "image")


class MathVisualEnv(MathEnv):
    """See the module's documentation, which is also the catalog page.

    Args:
        image_key: the column with the pictures; by default the first of images, image.
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
        super().__init__(dataset, split, question_key, answer_key, seed=seed)
        self.image_key = find_column(image_key, IMAGE_COLUMNS, self.dataset.columns, "image_key")
        self.images: list[str] = []
        """The pictures of the current problem, as `data:` URLs."""

    def _load_problem(self) -> None:
        super()._load_problem()
        value = self.problem.get(self.image_key) or []
        pictures = value if isinstance(value, list | tuple) else [value]
        self.images = [_picture_address(picture, self.dataset.source, self.dataset.folder) for picture in pictures]

    def _start(self) -> tuple[str, Info]:
        observation, info = super()._start()
        return observation, {**info, "images": self.images}

    def view(self, seat: int = 0) -> View:
        """See `Env.view`. The view is the drawing, the problem and, after the answer, the outcome."""
        count = len(self.images)
        pictures = [
            Picture(src=src, label=f"The drawing of the problem{f', {number} of {count}' if count > 1 else ''}")
            for number, src in enumerate(self.images, start=1)
        ]
        return ImageView(kind="image", name=self._name(), text=self._picture(), pictures=pictures, facts=self._facts())


def _picture_address(picture: Any, source: str, folder: Path | None) -> str:
    """A picture of a row as a `data:` URL.

    Raises:
        InvalidData: if it is not a picture.
    """
    if isinstance(picture, Mapping):
        picture = picture.get("bytes") or picture.get("path")
    if isinstance(picture, str) and not picture.startswith("data:"):
        path = None if folder is None else (folder / picture).resolve()
        if path is None or folder is None or not path.is_relative_to(folder.resolve()) or not path.is_file():
            raise InvalidData(f"{source} names the picture {picture!r}, which is not beside it.")
        picture = path.read_bytes()
    return data_url(picture)
