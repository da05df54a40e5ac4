"""What a workspace keeps in memory between requests, beside the same read anew."""

from collections import Counter

from opengcd import Workspace
from opengcd.workspace.groups import to_learn


def counted(workspace):
    """What is kept in memory between requests."""
    status, cards = workspace.status(), workspace.views.overview().cards
    assert [card.group for card in cards] == status.groups
    facts = [(card.typical, card.suggestion) for card in cards]
    return +Counter(status.counts), status.groups, facts, workspace.views.learnable()


def read(workspace):
    """The same, from what is read anew each time: all items with their labels, and all groups with their items."""
    labels = {one.item: one for one in workspace.views.labels()}
    sizes, facts = [], []
    for group in workspace.groups():
        sizes.append((*group[:5], len(group), *group[7:12]))
        said = Counter(one.prediction.label for one in workspace.views.members(group.id).items if one.prediction)
        hint = next((c for c, n in said.items() if c and group.kind == "novel" and 2 * n > len(group)), None)
        facts.append((group.items[:8], hint))
    with workspace.store.database.reading() as connection:
        learnable = Counter(to_learn(connection).values())
    return Counter(one.source for one in labels.values()), sizes, facts, learnable


def nearest(workspace):
    """Neighbours of some items, learnt and under review and neither."""
    return [workspace.similarity.neighbours(item, 7) for item in (1, 33, 50, 70, 80)]


def check(*workspaces):
    expected = read(workspaces[0])
    with Workspace(workspaces[0].path) as fresh:
        neighbours = nearest(fresh)
    for workspace in workspaces:
        assert counted(workspace) == expected
        assert nearest(workspace) == neighbours
