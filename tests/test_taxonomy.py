"""The deepest taxon that is sure: by hand, and the stated error on new data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opengcd.taxonomy import NO_TAXONOMY, Taxonomy, TaxonomyError, risk_threshold, walk

BIRDS = """\
family,genus,species
Corvidae,Cyanocitta,Blue Jay
Corvidae,Cyanocitta,Steller's Jay
Corvidae,Corvus,Raven
Paridae,Parus,Great Tit
"""
CLASSES = ["Blue Jay", "Steller's Jay", "Raven", "Great Tit"]


def names(answers):
    return [answer and (answer[0].name, answer[0].rank, round(answer[1], 6)) for answer in answers]


def test_a_table_either_way_round():
    taxonomy = Taxonomy.read(BIRDS)
    assert taxonomy.lineage("Raven") == (("family", "Corvidae"), ("genus", "Corvus"), ("species", "Raven"))
    turned = "\n".join(",".join(reversed(line.split(","))) for line in BIRDS.splitlines())
    assert Taxonomy.read(turned).lineage("Raven") == taxonomy.lineage("Raven")


def test_where_each_genus_has_one_species_the_classes_say_which_column_they_are():
    table = "a,b\nRaven,Corvus\nGreat Tit,Parus"
    assert Taxonomy.read(table, ["Raven"]).lineage("Raven") == (("b", "Corvus"), ("a", "Raven"))
    assert Taxonomy.read(table).lineage("Corvus") == (("a", "Raven"), ("b", "Corvus"))


def test_a_class_without_a_line_has_nothing_above_it():
    assert Taxonomy.read(BIRDS).lineage("Wren") == (("species", "Wren"),)


def test_names_that_are_paths():
    assert NO_TAXONOMY.lineage("Corvidae/Corvus/corax") == (
        ("level 1", "Corvidae"), ("level 2", "Corvus"), ("class", "corax"))  # fmt: skip
    assert NO_TAXONOMY.lineage("a/") == (("class", "a/"),)
    assert Taxonomy.read(BIRDS).lineage("Corvidae/Pica/pica")[1] == ("genus", "Pica")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "first line"),
        ("species\nRaven", "first line"),
        ("genus,species\nCorvus", "Line 2 has 1 cells"),
        ("genus,species\nCorvus,Raven\nCorvus,Raven", "already has a line"),
        ("genus,species\nCorvus,Raven\nCorvus,", "no name in the column species"),
        ("family,genus,species\nA,g,x\nB,g,y", "g is in A on one line and in B on another"),
        ("species,species\na,b", "must differ"),
    ],
)
def test_a_table_that_is_wrong(table, message):
    with pytest.raises(TaxonomyError, match=message):
        Taxonomy.read(table)


def test_walks_worked_out_by_hand():
    p = np.array([
        [0.70, 0.20, 0.05, 0.05],  # the species is sure
        [0.40, 0.45, 0.10, 0.05],  # one of two jays
        [0.25, 0.20, 0.30, 0.25],  # a corvid: the raven is the likeliest species, but the jays are together likelier
        [0.30, 0.00, 0.15, 0.55],
    ])  # fmt: skip
    walks = walk(Taxonomy.read(BIRDS), CLASSES, p)
    np.testing.assert_allclose(
        walks.probabilities, [[0.95, 0.9, 0.7], [0.95, 0.85, 0.45], [0.75, 0.45, 0.25], [0.55, 0.55, 0.55]]
    )
    assert names(walks.deepest(0.6)) == [
        ("Blue Jay", "species", 0.7), ("Cyanocitta", "genus", 0.85), ("Corvidae", "family", 0.75), None,
    ]  # fmt: skip
    assert names(walks.deepest(np.array([0.8, 0.3, 0.9, 0.5]))) == [
        ("Cyanocitta", "genus", 0.9), ("Steller's Jay", "species", 0.45), None, ("Great Tit", "species", 0.55),
    ]  # fmt: skip


def test_an_item_of_a_new_class_ends_above_the_classes():
    walks = walk(
        Taxonomy.read(BIRDS), [*CLASSES, "Wren"], np.array([[0.5, 0.4, 0, 0, 0.1], [0, 0, 0, 0, 1]]), to_class=False
    )
    assert names(walks.deepest(0.3)) == [("Cyanocitta", "genus", 0.9), None]
    assert not any(taxon.is_class for taxon in walks.taxa)


def test_the_first_wrong_taxon():
    taxonomy = Taxonomy.read(BIRDS + "Paridae,Cyanistes,Blue Tit\n")
    walks = walk(taxonomy, CLASSES, np.array([[0.7, 0.2, 0.05, 0.05]] * 3 + [[0, 0, 0.1, 0.9]]))
    truth = ["Blue Jay", "Raven", "Great Tit", "Blue Tit"]
    np.testing.assert_allclose(walks.first_wrong(truth, taxonomy), [0, 0.9, 0.95, 0.9])


def test_the_threshold_worked_out_by_hand():
    wrong = np.array([0.9, 0.8, 0.4] + [0.0] * 16)
    # (number above + 1) / 20 may be at most 0.05: none above; at most 0.1: one above; at most 0.25: all may be.
    assert risk_threshold(wrong, 0.05) == 0.9
    assert risk_threshold(wrong, 0.10) == 0.8
    assert risk_threshold(wrong, 0.25) == 0.0
    assert risk_threshold(wrong[:18], 0.05) == 1.0  # 19 items are the fewest for an error of 5 %
    assert risk_threshold(np.empty(0), 0.5) == 1.0


def world(rng, n, classes=12, noise=2.0):
    """Items of classes in a tree of three ranks; classes of one genus look alike."""
    lineages = {f"c{c}": (f"f{c // 6}", f"g{c // 3}") for c in range(classes)}
    centres = np.array(
        [np.r_[np.eye(2)[c // 6] * 4, np.eye(4)[c // 3] * 2, np.eye(classes)[c]] for c in range(classes)]
    )
    truth = rng.integers(0, classes, n)
    X = centres[truth] + rng.normal(size=(n, centres.shape[1])) * noise / 2
    logits = -((X[:, None] - centres) ** 2).sum(2) / 2
    p = np.exp(logits - logits.max(1, keepdims=True))
    return (
        Taxonomy(["family", "genus"], lineages),
        list(lineages),
        p / p.sum(1, keepdims=True),
        [f"c{c}" for c in truth],
    )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), low=st.floats(0, 1), high=st.floats(0, 1))
def test_a_larger_threshold_never_makes_a_right_answer_wrong(seed, low, high):
    taxonomy, classes, p, truth = world(np.random.default_rng(seed), 40)
    walks = walk(taxonomy, classes, p)
    wrong = walks.first_wrong(truth, taxonomy)
    low, high = sorted((low, high))
    for item, (broad, narrow) in enumerate(zip(walks.deepest(high), walks.deepest(low), strict=True)):
        own = tuple(name for _, name in taxonomy.lineage(truth[item]))
        for answer, threshold in ((broad, high), (narrow, low)):
            is_wrong = answer is not None and own[: len(answer[0].path)] != answer[0].path
            assert is_wrong == (wrong[item] > threshold)
    assert (np.diff(walks.probabilities, axis=1) <= 1e-12).all()


@pytest.mark.parametrize("error", [0.02, 0.05, 0.2])
def test_the_stated_error_holds_on_new_items(error):
    """Averaged over many draws of calibration items, at most the stated share is wrong, and not far fewer."""
    rng, shares = np.random.default_rng(0), []
    for _ in range(60):
        taxonomy, classes, p, truth = world(rng, 200)
        threshold = risk_threshold(walk(taxonomy, classes, p).first_wrong(truth, taxonomy), error)
        _, _, fresh, fresh_truth = world(rng, 400)
        shares.append((walk(taxonomy, classes, fresh).first_wrong(fresh_truth, taxonomy) > threshold).mean())
    assert np.mean(shares) <= error + 3 * np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) >= error - 2 / 200
