"""The report of an adaptation as JSON."""

import json
import math

import numpy as np

from opengcd.adapt.reports import AdaptReport, EpochPoint, Rehearsed


def test_a_report_is_json_and_comes_back():
    report = AdaptReport(
        Rehearsed(0.5, 0.6, float("nan"), 0.9, 3),
        [EpochPoint(1, 2.5, 0.75), EpochPoint(2, np.float32(1.5), float("nan"))],
        [],
        {"reading": 1.0, "training": float("inf")},
        True,
        [True, False],
        {"a.jpg": "it is not an image"},
    )
    text = json.dumps(report.as_dict(), allow_nan=False)  # a database would refuse NaN
    again = AdaptReport.from_dict(json.loads(text))
    assert math.isnan(again.rehearsed.adapted_hna)
    assert math.isnan(again.curve[1].accuracy)
    assert again.curve[0] == report.curve[0]
    assert again.seconds == {"reading": 1.0, "training": None}
    assert again[4:] == report[4:]


def test_a_report_without_a_rehearsal():
    report = AdaptReport(None, [], [], {}, False, [], {})
    assert AdaptReport.from_dict(report.as_dict()) == report
