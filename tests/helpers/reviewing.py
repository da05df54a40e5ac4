"""What a workspace of painted pictures says about them."""

from collections import Counter

from tests.helpers.pictures import truth

JPEG = b"\xff\xd8"


def colours(workspace, group):
    return Counter(truth(workspace.views.paths(item)[0]) for item in group.items)


def novel(workspace):
    return {max(colours(workspace, group)): group for group in workspace.groups() if group.kind == "novel"}


def labels(workspace):
    """The label and its source of every file."""
    return {path: (one.label, one.source) for one in workspace.views.labels() for path in one.paths}
