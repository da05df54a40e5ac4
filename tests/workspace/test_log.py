"""The log of edits."""

from sqlalchemy import insert, select

from opengcd.workspace.database import Database
from opengcd.workspace.log import editing, undo_last
from opengcd.workspace.migrations import create_tables
from opengcd.workspace.schema import meta


def test_the_log_restores_rows_of_all_kinds(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'db'}")
    with database.writing() as connection:
        create_tables(connection, "an id")
        connection.execute(insert(meta), [{"key": "kept", "value": "1"}, {"key": "gone", "value": "2"}])
        with editing(connection, "ann", "try") as edit:
            edit.touch(meta, ["kept", "gone", "new"])
            connection.execute(meta.update().where(meta.c.key == "kept").values(value="9"))
            connection.execute(meta.delete().where(meta.c.key == "gone"))
            connection.execute(insert(meta).values(key="new", value="3"))
    with database.writing() as connection:
        undo_last(connection, "bob")
        found = {row.key: row.value for row in connection.execute(select(meta))}
    assert {key: found.get(key) for key in ("kept", "gone", "new")} == {"kept": "1", "gone": "2", "new": None}
