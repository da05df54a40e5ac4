"""Methods by name, and what each of ours leaves out."""

import pytest

from opengcd.bench import make_method, method_names, run_protocol


def test_methods_by_name():
    assert set(method_names()) >= {"opengcd-svm", "opengcd-mlp", "opengcd-xgb", "csr-xgb", "il-e-svm", "owr-ue-mlp"}
    assert make_method("opengcd-svm", random_state=3).recognizer.random_state == 3
    assert make_method("opengcd.bench.baselines:NNO", random_state=3).random_state == 3
    for name, message in [
        ("opengcd-nope", "Unknown method"),
        ("nope:Nope", "cannot be imported"),
        ("opengcd.metrics:Parts", "a subclass of opengcd.bench.OpenWorldMethod .* discover, fit, learn, recognize;"),
        ("opengcd.metrics:hna", "must be a subclass"),
        ("opengcd.recognizer:OpenWorldRecognizer", "pass it to opengcd.bench.RecognizerMethod"),
        ("opengcd.bench.open_world_method:OpenWorldMethod", "does not implement discover, fit, learn, recognize"),
        (".metrics:Parts", "cannot be imported: TypeError"),
    ]:
        with pytest.raises(ValueError, match=message):
            make_method(name)


def test_methods_follow_the_authors_code_where_they_are_asked_to():
    method = make_method("opengcd-xgb", dataset="cifar100", protocol="authors", random_state=0).recognizer
    assert (method.alpha, method.max_classes, method.selector) == (1e5, 110, "authors")
    assert (method.preset.discovery.n_init, method.preset.discovery.objective) == (14, "fmi+db")
    assert make_method("csr-xgb", dataset="cifar100", protocol="authors").recognizer.alpha == 0
    assert make_method("opengcd-xgb", dataset="mine", protocol="authors").recognizer.preset == "authors"
    assert make_method("opengcd-xgb", dataset="cifar100").recognizer.preset == "paper"


def run(name, blobs, **settings):
    method = make_method(name, random_state=0, max_classes=20, selector="random")
    return [result for result, _ in run_protocol(method, *blobs, random_state=0, **settings)]


def test_csr_neither_learns_nor_rejects(blobs):
    results = run("csr-svm", blobs)
    assert all(r.hna == r.hca == 0 and r.rejected == r.actions == 0 for r in results[:2])
    assert results[2].accuracy[1:] == [0, 0]
    assert results[0].accuracy == [results[2].accuracy[0]]


def test_il_e_learns_all_but_never_rejects(blobs):
    results = run("il-e-svm", blobs)
    assert all(r.hna == r.hca == 0 and r.learnt_share == 1 for r in results[:2])
    assert results[2].accuracy_all > 0.9


def test_owr_ue_puts_all_rejected_items_in_one_heap(blobs):
    first = run("owr-ue-svm", blobs)[0]
    full = run("opengcd-svm", blobs)[0]
    assert first.hna == full.hna
    assert first.actions == first.rejected > full.actions
    # Two balanced novel classes in one group.
    assert first.gcd_parts.ans == pytest.approx(first.osr_parts.aus / 2, abs=0.05)


def test_learning_all_is_not_limited_by_discovery(blobs):
    results = run("opengcd-svm", blobs, learn="all")
    assert all(r.learnt_share == 1 and r.missing_classes == 0 for r in results[:2])
    with pytest.raises(ValueError, match="learn must be"):
        run("opengcd-svm", blobs, learn="some")
