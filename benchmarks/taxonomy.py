"""Does the deepest sure rank keep its stated error? ``python -m benchmarks.taxonomy --features FOLDER``.

The first phase of the benchmark on CUB, with other seeds than the published ones. The rank above a class is the last
word of its name ("Baird Sparrow" is a sparrow), so that new classes often belong to a rank that is known. For several
errors that a person may state, the shares of items of known classes that are named at the rank of the class and above
it, and the share of wrong names; and the same for items of new classes, which are never named at the rank of the class.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from opengcd import OpenWorldRecognizer
from opengcd._internal.randomness import derive
from opengcd.bench import class_groups, load_dataset, plan_for
from opengcd.taxonomy import Taxonomy, walk
from opengcd.workspace.taxonomies import calibrate

ERRORS = (0.02, 0.05, 0.1, 0.2)
SEEDS = (100, 101, 102)


def measure(features: Path, seed: int) -> np.ndarray:
    """Return for each error and for known and new items the shares named as a class, named above it, and wrong."""
    data = load_dataset(features, "cub")
    plan = plan_for(data)
    known, new = class_groups(len(data.class_names), plan.sizes, derive(seed, 0))[:2]
    labelled = data.train_rows(known)
    names = np.array(data.class_names)
    taxonomy = Taxonomy(["kind"], {name: [name.split()[-1]] for name in names.tolist()}, "species")
    recognizer = OpenWorldRecognizer(memory_size=plan.memory, random_state=seed)
    recognizer.fit(data.X[labelled], names[data.y[labelled]])
    classes = recognizer.classes_.tolist()
    shares = np.zeros((len(ERRORS), 2, 3))
    streams = data.test_rows(known), np.concatenate([data.train_rows(new), data.test_rows(new)])
    walks = [
        walk(taxonomy, classes, recognizer.predict_proba(data.X[rows]), to_class=not is_new)
        for is_new, rows in enumerate(streams)
    ]
    for place, error in enumerate(ERRORS):
        for kind, threshold in enumerate(calibrate(recognizer, classes, taxonomy, error)):
            truth = names[data.y[streams[kind]]].tolist()
            answers = [answer and answer[0] for answer in walks[kind].deepest(threshold)]
            wrong = walks[kind].first_wrong(truth, taxonomy) > threshold
            at_class = np.array([taxon is not None and taxon.is_class for taxon in answers])
            above = np.array([taxon is not None and not taxon.is_class for taxon in answers])
            shares[place, kind] = at_class.mean(), above.mean(), wrong.mean()
    return shares


def main() -> None:
    """Print the mean over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True, help="Folder of feature files.")
    given = parser.parse_args()
    mean = np.mean([measure(given.features, seed) for seed in SEEDS], axis=0)
    print("| stated error | items | named as a species | named as a kind | not named | wrong |")
    print("| --- | --- | --- | --- | --- | --- |")
    for error, kinds in zip(ERRORS, 100 * mean, strict=True):
        for items, (at_class, above, wrong) in zip(("known", "new"), kinds, strict=True):
            none = 100 - at_class - above
            print(f"| {error:.0%} | {items} | {at_class:.1f} % | {above:.1f} % | {none:.1f} % | {wrong:.1f} % |")


if __name__ == "__main__":
    main()
