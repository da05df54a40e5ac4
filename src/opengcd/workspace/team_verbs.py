"""The verbs by which several reviewers share their work: they assign groups to people, and comment on groups."""

from __future__ import annotations

from dataclasses import dataclass

from opengcd.workspace import comments, groups, people
from opengcd.workspace.conflicts import Concerns
from opengcd.workspace.details import AssignDetails, CommentDetails
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.log import Edit
from opengcd.workspace.verb import GroupId, Person, Text, Verb


@dataclass(frozen=True)
class Assign(Verb):
    """Assign a group to a person, who is to review it; without a name, to nobody.

    Parameters
    ----------
    group : int
        Number of the group.
    person : str or None
        Name of the person. If a token or the history has the name in another spelling, that person is meant.

    """

    act = "assign"
    group: GroupId
    person: Person | None = None

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        person = people.spelling(edit.connection, self.person) if self.person and self.person.strip() else None
        groups.assign(edit, self.group, person)
        edit.details = AssignDetails(self.group, person).as_dict() if edit.before else {}
        return self.group


@dataclass(frozen=True)
class Comment(Verb):
    """Add a comment to a group. It is never refused because of what others do.

    Parameters
    ----------
    group : int
        Number of the group.
    text : str
        The comment: one line of at most 500 characters.

    """

    act = comments.ACT
    group: GroupId
    text: Text

    def concerns(self) -> Concerns:
        """Return nothing: a comment changes nothing that others decide on."""
        return Concerns()

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        text = comments.check_comment(self.text)
        if not groups.members(edit.connection, self.group):
            raise WorkspaceError(
                f"Group {self.group} has no images under review, so nobody would see the comment; comment on the group "
                "that has its images now."
            )
        number = comments.add(edit, self.group, text)
        edit.details = CommentDetails(self.group, number, text).as_dict()
        return self.group
