"""The settings of an adaptation, and the defaults that depend on the amount of data."""

from __future__ import annotations

from dataclasses import dataclass

METHODS = {
    "lora": "low-rank updates of the linear layers (LoRA, Hu et al. 2021), merged into the network at the end",
    "blocks": "all parameters of the last blocks",
}
"""How the network is trained."""
RATES = {"lora": 5e-4, "blocks": 5e-5}
"""Learning rate of the network's parameters for each method."""
LARGEST_BATCH, SMALLEST_BATCH = 256, 32
BATCHES_PER_EPOCH = 8
"""A small dataset gets smaller batches, so that an epoch has about this many steps."""
VISITS = 80_000
"""Labelled images seen in the whole training, within the limits on epochs."""
FEWEST_EPOCHS, MOST_EPOCHS = 4, 15


class AdaptError(ValueError):
    """A network cannot be adapted, or not with these images."""


@dataclass(frozen=True)
class AdaptSettings:
    """Settings of an adaptation; where a setting is None, it depends on the data or the device.

    Parameters
    ----------
    method : {"lora", "blocks"}
        See :data:`METHODS`.
    blocks : int or None
        How many of the last blocks are trained; None trains all blocks on a GPU, and four on a CPU, where the
        activations below them are kept.
    rank : int
        Rank of the low-rank updates.
    epochs : int or None
        Passes over the labelled images; None chooses from 4 to 15, fewer for many images.
    batch_size : int or None
        Images per step; None chooses from 32 to 256, fewer for few images.
    learning_rate : float or None
        Of the network's parameters; None uses that of the method, see :data:`RATES`.
    unlabelled : bool
        Whether images without a label are used, in the contrastive loss.
    kept_out : float
        Share of the labelled images of each class that the network is not trained on: the threshold for "unknown" is
        calibrated on them.
    patience : int
        Training stops after this many epochs in a row without a better result on the images kept out.

    """

    method: str = "lora"
    blocks: int | None = None
    rank: int = 16
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    unlabelled: bool = False
    kept_out: float = 0.2
    patience: int = 5

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise AdaptError(f"Unknown method {self.method!r}; choose from {', '.join(METHODS)}.")
        for name, least in (("blocks", 1), ("rank", 1), ("epochs", 1), ("batch_size", 4), ("patience", 1)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
                raise AdaptError(f"{name} must be a whole number of at least {least}, not {value!r}.")
        if not 0 <= self.kept_out <= 0.5:
            raise AdaptError(f"kept_out must lie between 0 and 0.5, not {self.kept_out!r}.")
        if self.learning_rate is not None and not 0 < self.learning_rate < 1:
            raise AdaptError(f"learning_rate must lie between 0 and 1, not {self.learning_rate!r}.")

    @property
    def rate(self) -> float:
        """The learning rate of the network's parameters."""
        return RATES[self.method] if self.learning_rate is None else self.learning_rate

    def epochs_for(self, labelled: int) -> int:
        """Return the number of epochs for a number of labelled images.

        Parameters
        ----------
        labelled : int

        Returns
        -------
        int

        """
        return self.epochs or int(min(MOST_EPOCHS, max(FEWEST_EPOCHS, round(VISITS / max(labelled, 1)))))

    def batch_for(self, labelled: int) -> int:
        """Return the number of images per step for a number of labelled images.

        Parameters
        ----------
        labelled : int

        Returns
        -------
        int

        """
        return self.batch_size or int(min(LARGEST_BATCH, max(SMALLEST_BATCH, labelled // BATCHES_PER_EPOCH)))
