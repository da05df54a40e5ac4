import csv
import io
import re
from dataclasses import replace

import pytest

from opengcd import metrics
from opengcd.bench import (
    CodeVersion,
    Environment,
    ImageSource,
    commands,
    environments,
    figures,
    latex,
    markdown,
    pictures,
    settings_of,
    tidy_csv,
    write_report,
)
from opengcd.bench.published import published
from opengcd.bench.tables import cost_tables, detail_tables, paper_tables, phase_tables, run_tables, summary_table
from tests.helpers.results import open_phase, phase, result


def cells_of(table, phase, method):
    row = next(row for row in table.texts() if row[:2] == [str(phase), method])
    return dict(zip(table.header, row, strict=True))


def test_a_table_by_hand(results):
    methods, ablation = paper_tables(results, settings_of(results)[0])
    assert methods.title == "cifar100: methods (1/2 seeds)"
    mlp, xgb = cells_of(methods, 1, "opengcd-mlp"), cells_of(methods, 1, "opengcd-xgb")
    # Standard deviation of 20 and 40: 14.1; of 56 and 58: 1.4. The paper's numbers: 91.3, 72.6, 67, 54.2.
    assert mlp["HNA"] == "**30.0 ± 14.1**"
    assert mlp["HNA′"] == "**15.0 ± 7.1** (72.6)"
    assert mlp["k"] == "57.0 ± 1.4 (67)"
    assert mlp["k off"] == "**5.0 ± 2.4**"
    assert mlp["Acc"] == "**50.0 ± 0.0** (91.3)"
    # One seed is not marked beside the mean of several, even if it is better.
    assert xgb["HNA"] == "35.0"
    assert xgb["k off"] == "16.7"
    assert xgb["HCA"] == "40.0 (54.2)"
    assert "Ts3" not in methods.header  # no phase has it
    assert [row[1] for row in ablation.texts()[:2]] == ["csr-xgb", "opengcd-xgb"]
    assert "k" not in ablation.header


def test_narrow_tables_have_a_row_for_each_method_and_a_column_for_each_phase(results):
    setting = settings_of(results)[0]
    hca, k, accuracy = phase_tables(results, setting, ("HCA", "k", "Acc"), ablations=False)
    assert (hca.title, k.title) == ("cifar100: HCA", "cifar100: k (true: 60)")
    assert hca.header == ["method", "seeds", "phase 1"]  # nothing is discovered in the last phase
    assert accuracy.header == ["method", "seeds", "phase 1", "phase 2"]
    assert k.texts() == [["opengcd-mlp", "2", "57.0 ± 1.4"], ["opengcd-xgb", "1", "70.0"]]
    with_ablations = phase_tables(results, setting, ("Acc", "HCA"), ablations=True)
    assert [[row[0] for row in table.rows] for table in with_ablations] == [
        ["csr-xgb", "opengcd-mlp", "opengcd-xgb"],
        ["opengcd-mlp", "opengcd-xgb"],
    ]


def test_the_summary_has_the_methods_of_all_datasets_with_several_seeds(results):
    setting = settings_of(results)[0]
    assert [row[0] for row in summary_table(results, setting).rows] == ["opengcd-mlp"]
    results += [result("opengcd-xgb", 1, [open_phase(1, 0.45, 70), phase(2, accuracy_all=0.3)])]
    table = summary_table(results, setting)
    assert table.header == ["method", "cifar100 HNA", "cifar100 HCA", "cifar100 Acc"]
    assert table.texts() == [
        ["opengcd-mlp", "30.0", "**40.0**", "**50.0**"],
        ["opengcd-xgb", "**40.0**", "**40.0**", "40.0"],  # 50 and 30 after the last phase
    ]
    results += [result("opengcd-xgb", s, [open_phase(1, 0.45, 70)], dataset="cub") for s in (0, 1)]
    assert [row[0] for row in summary_table(results, setting).rows] == ["opengcd-xgb"]


def test_detail_tables(results):
    setting = settings_of(results)[0]
    row = cells_of(detail_tables(results, setting)[0], 1, "opengcd-mlp")
    names = ("lg α", "AKS", "ANS", "actions per item", "actions per name", "with splits")
    assert [row[name] for name in names] == [
        "1.0 ± 0.0",
        "**60.0 ± 0.0**",
        "**30.0 ± 0.0**",
        "0.20 ± 0.00",
        "**0.50 ± 0.00**",
        "**0.40 ± 0.00**",
    ]
    cost = cells_of(cost_tables(results, setting)[0], 2, "opengcd-mlp")
    assert cost["fit, s"] == "2 ± 0"
    assert "fit, MB" not in cost  # the system did not tell


def test_the_error_in_the_number_of_new_classes(results):
    row = cells_of(detail_tables(results, settings_of(results)[0])[0], 1, "opengcd-mlp")
    # 40 known, 20 new: 56 and 58 classes are 4 and 2 too few, so 20 and 10 %.
    assert row["new k off"] == "**15.0 ± 7.1**"
    assert phase(1).new_k_error is None
    assert phase(1, k=41, k_true=40).new_k_error is None  # there is no new class


def test_the_best_threshold_in_hindsight_may_not_be_recorded(results):
    setting = settings_of(results)[0]
    assert "best HNA" not in detail_tables(results, setting)[0].header
    results.append(result("best", 0, [open_phase(1, 0.6, 60, best_hna=0.65), phase(2)]))
    (table,) = detail_tables(results, setting)
    assert cells_of(table, 1, "best")["best HNA"] == "65.0"
    assert cells_of(table, 1, "opengcd-mlp")["best HNA"] == "–"
    assert cells_of(table, 2, "opengcd-mlp")["best HNA"] == cells_of(table, 1, "csr-xgb")["best HNA"] == ""
    assert {row["method"] for row in csv.DictReader(io.StringIO(tidy_csv(results))) if row["metric"] == "best HNA"} == {
        "best"
    }


def test_the_cost_of_adaptation(results):
    setting = settings_of(results)[0]
    assert "adapt, s" not in cost_tables(results, setting)[0].header
    results.append(result("best-adapted", 0, [phase(1, seconds={"fit": 9.0, "adapt": 6.0, "embed": 2.0})]))
    row = cells_of(cost_tables(results, setting)[0], 1, "best-adapted")
    assert (row["fit, s"], row["adapt, s"], row["embed, s"]) == ("9", "6", "2")


def test_commands_name_the_network_that_images_were_given_to():
    on_images = [
        replace(result("best", 0, [phase(1)]), features="1"),
        replace(result("best-adapted", 0, [phase(1)]), features="1", images=ImageSource("tiny", "f", "i")),
        replace(result("best", 0, [phase(1)], dataset="cub"), features="2"),
    ]
    assert commands(on_images, settings_of(on_images)[0]).splitlines() == [
        "opengcd bench run --datasets cifar100 --methods best,best-adapted --seeds 0 --protocol paper --raw raw "
        "--embedder tiny --out results",
        "opengcd bench run --datasets cub --methods best --seeds 0 --protocol paper --features features --out results",
    ]


def test_settings_are_kept_apart_and_named(results):
    assert [str(setting) for setting in settings_of(results)] == [
        "protocol paper",
        "protocol paper, 500 exemplars",
        "protocol authors",
    ]
    assert commands(results, settings_of(results)[0]).splitlines() == [
        f"opengcd bench run --datasets cifar100 --methods {methods} --seeds {seeds} --protocol paper "
        "--features features --out results"
        for methods, seeds in (("csr-xgb,opengcd-xgb", "0"), ("opengcd-mlp", "0-1"))
    ]
    assert commands(results, settings_of(results)[1]).endswith("--memory 500 --features features --out results")


def test_tables_state_versions_and_threads(results):
    setting = settings_of(results)[0]
    unrecorded = "Computed by a commit that was not recorded."
    assert environments(results, setting).splitlines() == ["Computed with threads 1, torch 2.0.", unrecorded]
    results[0] = replace(results[0], environment=Environment({"torch": "2.0"}, threads=4))
    assert environments(results, setting).splitlines() == [
        "1 cell (opengcd-mlp) computed with threads 4, torch 2.0.",
        "3 cells (csr-xgb, opengcd-mlp, opengcd-xgb) computed with threads 1, torch 2.0.",
        unrecorded,
    ]
    _, one, four = commands(results, setting).splitlines()
    assert "--methods opengcd-mlp --seeds 1 --protocol paper --features" in one
    assert "--methods opengcd-mlp --seeds 0 --protocol paper --threads 4 " in four


def test_the_code_that_computed_the_results_is_said(results):
    setting = settings_of(results)[0]
    code = CodeVersion("0.1.0", "0123456789abcdef")
    results = [replace(one, code=code) for one in results]
    assert environments(results, setting).splitlines() == [
        "Computed with threads 1, torch 2.0.",
        "Computed by opengcd 0.1.0 at commit 0123456789ab.",
    ]
    results[0], results[1] = replace(results[0], code=None), replace(results[1], code=CodeVersion("0.2.0"))
    assert environments(results, setting).splitlines()[1] == (
        "Computed by a commit that was not recorded (1 cell), opengcd 0.1.0 at commit 0123456789ab (2 cells), "
        "opengcd 0.2.0 (1 cell)."
    )


def test_whole_runs(results):
    (table,) = run_tables(results, settings_of(results)[0])
    assert table.texts()[1] == ["opengcd-mlp", "2", "1.5 ± 0.0", "25.0 ± 0.0", "10.0 ± 0.0"]


def test_the_papers_numbers_stand_only_beside_its_own_memory(results):
    methods = paper_tables(results, settings_of(results)[1])[0]
    assert cells_of(methods, 1, "opengcd-xgb")["HCA"] == "40.0"


def test_a_method_without_discovery_has_no_k_anywhere(results):
    rows = list(csv.DictReader(io.StringIO(tidy_csv(results))))
    assert {r["metric"] for r in rows if r["method"] == "csr-xgb"}.isdisjoint({"k", "k off", "k true"})
    assert {"k", "k off"} <= {r["metric"] for r in rows if r["method"] == "opengcd-xgb"}


def test_markdown_and_latex(results):
    table = paper_tables(results, settings_of(results)[0])[0]
    lines = markdown(table).splitlines()
    assert lines[0] == "**cifar100: methods (1/2 seeds)**"
    assert all(line.count("|") == len(table.header) + 1 for line in lines[2:])
    text = latex(results, settings_of(results)[0])
    rows = [line for line in text.splitlines() if line.endswith(r"\\") and line[0].isdigit()]
    assert len(rows) == 6  # three methods in two phases
    assert len({row.count("&") for row in rows}) == 1
    assert r"\textbf{30.0}" in text
    assert r"{\color{gray}\tiny 72.6}" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 1


def test_csv_has_a_line_for_each_number(results):
    rows = list(csv.DictReader(io.StringIO(tidy_csv(results))))
    (row,) = [r for r in rows if r["method"] == "opengcd-mlp" and r["metric"] == "k" and r["phase"] == "1"]
    assert (row["mean"], row["seeds"], row["paper"], row["protocol"]) == ("57.0", "2", "67.0", "paper")
    assert float(row["sd"]) == pytest.approx(2**0.5)


def test_numbers_that_are_missing_or_nan_are_left_out():
    nan = [result("opengcd-mlp", s, [phase(1, accuracy=[a], accuracy_all=a)]) for s, a in ((0, 0.5), (1, float("nan")))]
    (table,) = paper_tables(nan, settings_of(nan)[0])
    assert cells_of(table, 1, "opengcd-mlp")["Ts1"] == "50.0 (91.3)"


def test_published_numbers_whatever_the_spelling():
    assert published("opengcd-xgb", "cifar100", 1, "hca") == 54.2
    assert published("b-doc", "cub", 4, "acc_all") == published("bdoc", "CUB", 4, "acc_all") == 23.5
    assert published("opengcd-mlp", "cub", 2, "est_k") == 175
    assert published("package.module:NNO", "cub", 1, "hca") == published("nno", "cub", 1, "hca") == 11.7
    assert published("mine", "cub", 2, "hca") is None


def test_the_case_of_appendix_b():
    truth, predicted, known = figures.appendix_b()
    # ACC matches groups 4, 5, 1, 2 to classes 1, 2, 4, 5: 4 of 6 each, and all of class 3. HCA allows no such match:
    # AKS = (2 + 2 + 6) / 18, ANS = (2 + 2) / 12.
    assert metrics.clustering_accuracy(truth, predicted) == pytest.approx(22 / 30)
    assert metrics.hca(truth, predicted, known) == pytest.approx(2 / (18 / 10 + 12 / 4))


def test_every_picture_is_drawn(results):
    drawn = {picture.name: picture for picture in pictures(results)}
    assert set(drawn) >= {
        "phases-paper-discovered",
        "alpha-opengcd-xgb-paper-discovered",
        "k-opengcd-mlp-paper-discovered",
        "acc-hca-authors-discovered",
        "memory-opengcd-xgb-paper-discovered",
        "hca-paper-discovered",
        "effort-paper-discovered",
    }
    # Two methods discover, in one phase: HCA of 40 % each, the mean of seeds.
    (dots,) = drawn["hca-paper-discovered"].figure.axes
    assert [text.get_text() for text in dots.get_yticklabels()] == ["opengcd-mlp", "opengcd-xgb"]
    assert dots.containers[0].lines[0].get_xdata().tolist() == pytest.approx([40, 40])
    (effort,) = drawn["effort-paper-discovered"].figure.axes
    assert effort.containers[0].lines[0].get_xdata().tolist() == [0.5, 0.5]
    # The alpha in use is marked where the curve of the stream has it: (10, 35 %).
    (axes,) = drawn["alpha-opengcd-xgb-paper-discovered"].figure.axes
    marks = [line.get_xydata().tolist() for line in axes.lines if line.get_marker() == "o"]
    assert marks == [[[10.0, 35.0]]]
    # The memory of the plan, 20,000, stands beside the one that was asked for.
    accuracy = drawn["memory-opengcd-xgb-paper-discovered"].figure.axes[0]
    assert accuracy.lines[0].get_xdata().tolist() == [500, 20000]


def test_a_method_looks_the_same_in_all_datasets(results):
    results.append(result("opengcd-svm", 0, [open_phase(1, 0.3, 60)], dataset="cub"))
    figure = next(picture.figure for picture in pictures(results) if picture.name == "phases-paper-discovered")
    looks = {}
    for axes in figure.axes:
        for container in axes.containers:
            looks.setdefault(container.get_label(), set()).add(container.lines[0].get_color())
    assert all(len(colours) == 1 for colours in looks.values())
    assert len({*map(tuple, looks.values())}) == len(looks) == 4
    assert [text.get_text() for text in figure.legends[0].get_texts()] == sorted(looks)


def test_the_report_stands_alone(results, tmp_path):
    write_report(tmp_path / "report.html", results, list(pictures(results)))
    text = (tmp_path / "report.html").read_text()
    assert not re.search(r"(src|href)=['\"](?!#|data:)", text)
    assert "<b>35.0</b>" in text
    assert text.count("<figure>") == len(list(pictures(results)))
    assert "opengcd bench run" in text
