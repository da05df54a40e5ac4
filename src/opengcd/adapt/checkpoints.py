"""The state of a training in a safetensors file, from which an interrupted training continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from opengcd._internal.durable_files import replace_file

NOW, BEST = "now.", "best."


class Checkpoint(NamedTuple):
    """The content of a file that :func:`write_checkpoint` wrote."""

    state: dict[str, Any]
    tensors: dict[str, Tensor]

    def restore(self, trained: dict[str, nn.Parameter], optimizer: torch.optim.AdamW) -> dict[str, Tensor]:
        """Set parameters and optimiser as they were; return the best values of the parameters.

        Parameters
        ----------
        trained : dict of str to Parameter
            By the names that they were written under.
        optimizer : AdamW
            Of these parameters.

        Returns
        -------
        dict of str to Tensor

        """
        best = {}
        optimizer.state.clear()
        with torch.no_grad():
            for name, parameter in trained.items():
                parameter.copy_(self.tensors[NOW + name])
                best[name] = self.tensors[BEST + name].to(parameter.device)
                ends = [key for key in self.tensors if key.endswith(f":{name}")]
                if ends:
                    optimizer.state[parameter] = {
                        key.partition(":")[0]: self.tensors[key].to(
                            "cpu" if key.startswith("step:") else parameter.device
                        )
                        for key in ends
                    }
        return best


def write_checkpoint(
    file: Path,
    state: dict[str, Any],
    trained: dict[str, nn.Parameter],
    best: dict[str, Tensor],
    optimizer: torch.optim.AdamW,
) -> None:
    """Write a checkpoint; the file is replaced atomically, so a crash leaves the previous one.

    Parameters
    ----------
    file : Path
    state : dict
        JSON.
    trained : dict of str to Parameter
    best : dict of str to Tensor
        Values of the same parameters after the best epoch.
    optimizer : AdamW

    """
    from safetensors.torch import save

    tensors = {NOW + name: p.detach() for name, p in trained.items()} | {BEST + name: v for name, v in best.items()}
    for name, parameter in trained.items():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{key}:{name}"] = value
    content = {name: value.cpu().contiguous() for name, value in tensors.items()}
    replace_file(file, save(content, {"state": json.dumps(state)}))


def read_checkpoint(file: Path) -> Checkpoint | None:
    """Return a checkpoint; None if there is none, or one that cannot be read: training then starts again.

    Parameters
    ----------
    file : Path

    Returns
    -------
    Checkpoint or None

    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, "pt") as stored:
            state = json.loads((stored.metadata() or {})["state"])
            return Checkpoint(state, {name: stored.get_tensor(name) for name in stored.keys()})  # noqa: SIM118
    except (OSError, SafetensorError, ValueError, KeyError):
        return None
