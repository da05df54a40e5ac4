"""What one phase of ``best`` costs: ``python -m benchmarks.phase_cost --features FOLDER --dataset cifar100``.

Protocol ``paper``, phase by phase: seconds to learn, to judge the stream one part after the other, and to count and
group its classes; the last two are what a stream costs. Memory is the largest in that stage, features included.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from benchmarks.measure import HAS_GPU
from opengcd import OpenWorldRecognizer
from opengcd._internal.randomness import derive
from opengcd.bench import RecognizerMethod, class_groups, load_dataset, plan_for, run_protocol


def main() -> None:
    """Print one table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--dataset", default="cifar100")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    chosen = parser.parse_args()
    data = load_dataset(chosen.features, chosen.dataset)
    plan = plan_for(data)
    groups = class_groups(len(data.class_names), plan.sizes, derive(chosen.seed, 0))
    recognizer = OpenWorldRecognizer(memory_size=plan.memory, random_state=chosen.seed, device=chosen.device)
    name = torch.cuda.get_device_name() if HAS_GPU and chosen.device != "cpu" else "CPU"
    print(f"{chosen.dataset} on {name}, {torch.get_num_threads()} threads, torch {torch.__version__}\n")
    print("| phase | learn, s | reject, s | count and group, s | reject, count and group, s | memory, MB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for phase, _ in run_protocol(RecognizerMethod(recognizer), data, groups, random_state=derive(chosen.seed, 1)):
        if "discover" in phase.seconds:
            learn, reject, group = (phase.seconds[stage] for stage in ("fit", "recognise", "discover"))
            print(
                f"| {phase.phase} | {learn:.1f} | {reject:.1f} | {group:.1f} | {reject + group:.1f} | "
                f"{phase.peak_mb['discover'] or float('nan'):,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
