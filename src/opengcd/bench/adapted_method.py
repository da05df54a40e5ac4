"""The recogniser on images: the network that makes their features is adapted to the labelled ones."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import as_int, derive, seed_sequence
from opengcd._internal.unit_length import unit_rows
from opengcd._internal.validation import check_features
from opengcd.adapt import AdaptSettings, LabelledCrops, embed_crops, train_network
from opengcd.bench.image_dataset import DatasetImages
from opengcd.bench.near_copies import NearCopies
from opengcd.bench.open_world_method import FittedParameters, OpenWorldMethod, Predictions
from opengcd.bench.raw import in_few_bits
from opengcd.bench.recognizer_method import RecognizerMethod
from opengcd.discover import Discovery, MetricRows
from opengcd.recognizer import OpenWorldRecognizer

ADAPTATION = 10_000
"""Seeds of adaptation are derived with this number; the recogniser derives its own with smaller ones."""


class AdaptedMethod(OpenWorldMethod):
    """A recogniser whose features come from a network that is adapted to the labelled images.

    ``X`` holds numbers of images throughout. The network is trained on labelled images only: those that ``fit`` is
    given, and after each ``learn`` the exemplars that were in the memory and the newly labelled images. What the memory
    has discarded is never used again, and only labels given to ``fit`` and ``learn`` are seen.

    Parameters
    ----------
    recognizer : OpenWorldRecognizer
    settings : AdaptSettings
    again : bool
        Whether the network is adapted again after each ``learn``, or only in ``fit``.
    uses_stream : bool
        Whether the network is also adapted to the images of the stream, without labels: after all of them have been
        recognised, and before new classes are discovered among them.
    calibrates_on_all : bool
        Whether thresholds are calibrated on all labelled images, including those that the network was trained on, which
        look too well known.

    """

    takes_images = True

    def __init__(
        self,
        recognizer: OpenWorldRecognizer,
        *,
        settings: AdaptSettings = AdaptSettings(),  # noqa: B008  it cannot be changed
        again: bool = True,
        uses_stream: bool = False,
        calibrates_on_all: bool = False,
    ) -> None:
        self.recognizer = recognizer
        self.settings = settings
        self.again = again
        self.uses_stream = uses_stream
        self.calibrates_on_all = calibrates_on_all
        self._method = RecognizerMethod(recognizer)

    def open_images(self, images: DatasetImages) -> None:
        """Take the images of a dataset, and load the network."""
        self._crops = images.crops
        self._copies: NearCopies | None = None
        self._features = np.empty((0, 0), dtype=np.float32)
        self._network = images.load_network()
        self._seed = seed_sequence(self.recognizer.random_state)
        self._adaptations: list[dict[str, Any]] = []
        self._trained = np.zeros(len(self._crops), dtype=bool)
        self._spent: defaultdict[str, float] = defaultdict(float)

    def add_copies(self, copies: NearCopies) -> None:
        """Take near copies of images, and embed them; they are forgotten when the next classes are learnt."""
        self._copies = copies
        with self._timed("embed"):
            self._features = np.concatenate([self._features[: len(self._crops)], self._embed(copies, silent)])

    def fit(self, X: np.ndarray, y: np.ndarray, *, progress: Progress = silent) -> Any:
        """Adapt the network to labelled images, and start from their features."""
        self._adapt(X, y, progress=progress)
        self.recognizer.fit(self._features[X], y, trained=self._mask(X), progress=progress)
        self.unknown_label_ = self._method.unknown_label_ = self.recognizer.unknown_label_
        self._exemplars = X[self.recognizer.memory_.kept]

    def learn(self, X: np.ndarray, y: np.ndarray, *, progress: Progress = silent) -> Any:
        """Learn from newly labelled images; then adapt the network to them and to the exemplars."""
        self._copies = None
        rows, labels = np.concatenate([self._exemplars, X]), np.concatenate([self.recognizer.memory_.y, y])
        self.recognizer.learn(self._features[X], y, trained=self._mask(X), progress=progress)
        self._exemplars = rows[self.recognizer.memory_.kept]
        if self.again:
            self._adapt(rows, labels, progress=progress)
            self._reembed(progress)

    def features(self, X: np.ndarray) -> np.ndarray:
        """Return the features of images by the current network.

        Parameters
        ----------
        X : int array of shape (n,)
            Numbers of images.

        Returns
        -------
        array of shape (n, d)

        """
        return self._features[X]

    def recognize(self, X: np.ndarray) -> Predictions:
        """Return labels with rejection, labels without, and the unknown score."""
        return self._method.recognize(self.features(X))

    def predict_closed(self, X: np.ndarray) -> np.ndarray:
        """Return the known class of each image, rejecting nothing."""
        return self._method.predict_closed(self.features(X))

    def discover(self, X: np.ndarray, *, progress: Progress = silent) -> Discovery:
        """Group rejected images."""
        return self._method.discover(self.features(X), progress=progress)

    def discover_in_stream(
        self, X: np.ndarray, rejected: np.ndarray, *, progress: Progress = silent
    ) -> tuple[np.ndarray, Discovery]:
        """Group images of the stream, perhaps after adapting the network to them."""
        rejected = self._adapt_to_stream(X, rejected, progress)
        return self._method.discover_in_stream(self.features(X), rejected, progress=progress)

    def discover_again(
        self, X: np.ndarray, rejected: np.ndarray, confirmed: np.ndarray, *, progress: Progress = silent
    ) -> tuple[np.ndarray, Discovery]:
        """Group images of the stream; those with a confirmed label keep it."""
        rejected = self._adapt_to_stream(X, rejected, progress)
        return self._method.discover_again(self.features(X), rejected, confirmed, progress=progress)

    @property
    def adapts(self) -> bool:
        """Whether the threshold for "unknown" follows the stream."""
        return self._method.adapts

    def observe(self, X: np.ndarray) -> Any:
        """Adapt the threshold for "unknown" to images of the stream."""
        self._method.observe(self.features(X))

    def in_metric(self, X: np.ndarray) -> np.ndarray:
        """Return images as the current network sees them, in the metric of the recogniser."""
        return self._method.in_metric(self.features(X))

    def question_rows(self, X: np.ndarray) -> MetricRows | None:
        """Return labelled images and those that were grouped, as the current network sees them."""
        return self._method.question_rows(self.features(X))

    def spent(self) -> dict[str, float]:
        """Return the seconds spent on adapting and on embedding images since the last call."""
        spent, self._spent = self._spent, defaultdict(float)
        return dict(spent)

    def fitted_parameters(self) -> FittedParameters:
        """Return the settings of adaptation, and what each training so far was given and what it reached."""
        settings = {
            "adaptation": asdict(self.settings),
            "again": self.again,
            "uses_stream": self.uses_stream,
            "calibrates_on_all": self.calibrates_on_all,
            "trainings": list(self._adaptations),
        }
        return self._method.fitted_parameters()._replace(settings=settings)

    def _adapt(
        self,
        labelled: np.ndarray,
        y: np.ndarray,
        unlabelled: np.ndarray = np.empty(0, dtype=np.int64),  # noqa: B008  it is not changed
        *,
        progress: Progress,
    ) -> None:
        """Train the current network further, and embed all images by it."""
        rows = np.concatenate([labelled, unlabelled])
        codes = np.concatenate([np.unique(y, return_inverse=True)[1], np.full(len(unlabelled), -1)])
        with self._timed("adapt"):
            network, trained, curve = train_network(
                self._network,
                LabelledCrops(self._images(rows), codes, rows.tolist()),
                replace(self.settings, unlabelled=len(unlabelled) > 0),
                random_state=as_int(derive(self._seed, ADAPTATION, len(self._adaptations))),
                progress=progress,
                on_epoch=_ignore,
            )
        self._network = network
        # What an image without a label teaches the network does not draw it to its class.
        self._trained[labelled] |= np.asarray(trained)[: len(labelled)]
        with self._timed("embed"):
            self._features = self._embed(self._crops, progress)
            if self._copies is not None:
                self._features = np.concatenate([self._features, self._embed(self._copies, progress)])
        last = curve[-1]._asdict() if curve else {}
        self._adaptations.append({"labelled": len(labelled), "unlabelled": len(unlabelled)} | last)

    def _embed(self, images: np.ndarray | NearCopies, progress: Progress) -> np.ndarray:
        X = embed_crops(self._network, images, progress)
        # As features of a frozen network are stored and read.
        return unit_rows(check_features(in_few_bits(check_features(X, name="What the adapted network returns"))))

    def _images(self, rows: np.ndarray) -> np.ndarray:
        """Return images of the dataset and near copies by number."""
        if self._copies is None:
            return self._crops[rows]
        of_dataset = rows < len(self._crops)
        images = np.empty((len(rows), *self._crops.shape[1:]), dtype=np.uint8)
        images[of_dataset] = self._crops[rows[of_dataset]]
        images[~of_dataset] = self._copies[rows[~of_dataset] - len(self._crops)]
        return images

    def _adapt_to_stream(self, X: np.ndarray, rejected: np.ndarray, progress: Progress) -> np.ndarray:
        """Adapt the network to the stream, if that is wanted; return which images are rejected then."""
        if not self.uses_stream:
            return rejected
        self._adapt(self._exemplars, self.recognizer.memory_.y, np.setdiff1d(X, self._exemplars), progress=progress)
        self._reembed(progress)
        # Scores of another network say nothing about this one.
        self.observe(X)
        if self.recognizer.discovers_from != "stream":
            return rejected
        return np.asarray(self.recognize(X).labels == self.unknown_label_)

    def _reembed(self, progress: Progress) -> None:
        """Fit the recogniser again on its exemplars, as the current network sees them."""
        rows = self._exemplars
        self.recognizer.reembed(self._features[rows], trained=self._mask(rows), progress=progress)

    def _mask(self, rows: np.ndarray) -> np.ndarray | None:
        """Return which images the network was trained on with their label; None to calibrate on all of them."""
        return None if self.calibrates_on_all else self._trained[rows]

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self._spent[step] += time.perf_counter() - start


def _ignore(*_: Any) -> None:
    """Ignore a point of the curves; the last one is kept with the results."""
