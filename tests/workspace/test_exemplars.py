"""An exemplar knows which item it is, also where two items look exactly the same."""

import numpy as np
import pytest
from PIL import PngImagePlugin
from sqlalchemy import delete, select

from opengcd import Workspace
from opengcd.workspace import migrations, schema
from tests.helpers.older_schemas import without_networks
from tests.helpers.pictures import COLOURS, RECOGNIZER, paint_world, picture


def save_copy(colour, number, file):
    """Save a picture that has the same pixels as another one of the same number, and another content."""
    note = PngImagePlugin.PngInfo()
    note.add_text("Comment", str(file))
    picture(colour, number).save(file, pnginfo=note)


def labels_of(workspace):
    with workspace.store.database.reading() as connection:
        query = select(schema.training_labels.c.item_id, schema.training_labels.c.label)
        return {row.item_id: row.label for row in connection.execute(query)}


def learn_new(workspace):
    for group in workspace.groups():
        if group.kind == "novel":
            workspace.name(group.id, f"new {group.id}", confirm=True)
    workspace.learn()


def forget_items(workspace):
    """Leave the exemplars as an older version stored them: without their items, in tables of the fourth schema."""
    without_networks(workspace.path)
    with workspace.store.database.writing() as connection:
        schema.exemplars.drop(connection)
        connection.exec_driver_sql("ALTER TABLE training_labels RENAME TO lessons")
        connection.execute(schema.meta.update().where(schema.meta.c.key == "schema").values(value="4"))


def assert_true(workspace):
    """Check that each exemplar has the features and the label of its item, and that no item is two exemplars."""
    labels, found = labels_of(workspace), workspace.exemplars.by_class()
    _, recognizer = workspace.recognizers.in_use()
    memory, items = recognizer.memory_, [item for one in found.values() for item in one]
    assert len(set(items)) == len(items) == len(memory)
    for label, ids in found.items():
        assert {labels[id] for id in ids} == {label}
        np.testing.assert_array_equal(workspace.vectors.of_items(ids), memory.X[memory.y == label])


@pytest.fixture
def twins(tmp_path):
    """A workspace in which a red image lies among the black ones too, and a black one twice among its own."""
    known, stream = paint_world(tmp_path)
    save_copy("red", 0, known / "black" / "twin.png")
    save_copy("black", 0, known / "black" / "again.png")
    with Workspace.create(tmp_path / "workspace", "pixels", recognizer=RECOGNIZER) as workspace:
        assert workspace.fit(known) == []
        list(workspace.recognize([stream]))
        workspace.discover(k=len(COLOURS))
        yield workspace


def test_exemplars_keep_their_items_from_phase_to_phase(twins):
    assert_true(twins)
    assert sum(map(len, twins.exemplars.by_class().values())) == 34
    learn_new(twins)
    assert len(twins.exemplars.by_class()) == 6
    assert_true(twins)
    twins.rollback(1)
    assert_true(twins)


def test_items_of_an_older_version_are_found_by_label_and_features(twins):
    expected = twins.exemplars.by_class()
    forget_items(twins)
    with Workspace(twins.path) as old:
        found = old.exemplars.by_class()
        assert {label: sorted(items) for label, items in found.items()} == {
            label: sorted(items) for label, items in expected.items()
        }
        assert_true(old)
        learn_new(old)
        assert_true(old)
        with old.store.database.reading() as connection:
            assert set(connection.scalars(select(schema.exemplars.c.model_id))) == {2}


def test_an_exemplar_whose_item_cannot_be_found_is_left_out(twins):
    items = sorted(item for one in twins.exemplars.by_class().values() for item in one)
    labels = schema.training_labels
    with twins.store.database.writing() as connection:
        connection.execute(delete(schema.exemplars))
        connection.execute(delete(labels).where(labels.c.item_id == items[0]))
    with Workspace(twins.path) as old:
        for _ in range(2):
            found = [item for one in old.exemplars.by_class().values() for item in one]
            assert items[0] not in found
            assert set(found) <= labels_of(old).keys()
            assert all(len(near) == 5 for near in old.exemplars.nearest_to_items(items[:3]))
            if old.status().version.id == 1:
                learn_new(old)


def test_every_schema_has_a_way_to_the_next():
    assert list(migrations.MIGRATIONS) == list(range(1, schema.SCHEMA_VERSION))
