"""What a workspace of painted pictures says about them."""

from collections import Counter

from sqlalchemy import delete, insert

from opengcd.workspace.schema import stack_members
from tests.helpers.pictures import truth

JPEG = b"\xff\xd8"


def colours(workspace, group):
    return Counter(truth(workspace.views.paths(item)[0]) for item in group.items)


def novel(workspace):
    return {max(colours(workspace, group)): group for group in workspace.groups() if group.kind == "novel"}


def labels(workspace):
    """The label and its source of every file."""
    return {path: (one.label, one.source) for one in workspace.views.labels() for path in one.paths}


def put_in_stack(workspace, items):
    """Let items be near copies of each other, as if a discovery had found that."""
    with workspace.store.database.writing() as connection:
        connection.execute(delete(stack_members).where(stack_members.c.item_id.in_(items)))
        connection.execute(insert(stack_members), [{"item_id": item, "stack": min(items)} for item in items])
