"""The job that verifies a workspace, and repairs what can be computed again."""

from __future__ import annotations

from opengcd.service.job_reports import JobReport
from opengcd.workspace import Workspace

MOST_TOLD = 200
"""Findings in the result."""


def check_workspace(workspace: Workspace, report: JobReport, *, repair: bool = False) -> None:
    """Verify all data of a workspace, as a job.

    Parameters
    ----------
    workspace : Workspace
    report : JobReport
    repair : bool
        Whether to restore what can be computed from the images and other files.

    """
    found = workspace.check(repair=repair, progress=report.progress)
    folder = str(workspace.path.absolute())  # where it is on the server is nobody's business
    told = [
        {name: value.replace(folder, workspace.path.name) if isinstance(value, str) else value for name, value in facts}
        for facts in (one._asdict().items() for one in found[:MOST_TOLD])
    ]
    with workspace.store.database.writing() as connection:
        report.record(connection, {"findings": told, "total": len(found), "repair": repair})
