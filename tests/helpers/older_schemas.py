"""Workspaces as earlier versions stored them."""

import sqlite3
from contextlib import closing

WITHOUT_WHOLE_IMAGES = (
    "DROP TABLE without_crop",
    "UPDATE meta SET value = '9' WHERE key = 'schema'",
)
"""Statements that turn a database of schema 10 into one of schema 9, as SQLite and PostgreSQL take them."""
WITHOUT_REVIEWERS = (
    *WITHOUT_WHOLE_IMAGES,
    "DROP TABLE comments",
    "ALTER TABLE groups DROP COLUMN assignee",
    "ALTER TABLE groups DROP COLUMN confirmed_by",
    "UPDATE meta SET value = '8' WHERE key = 'schema'",
)
"""Statements that turn a database of schema 10 into one of schema 8."""


def without_whole_images(folder):
    """Turn a workspace into one of schema 9: images without a crop are only in the records of the crops."""
    _run(folder, WITHOUT_WHOLE_IMAGES)


def without_reviewers(folder):
    """Turn a workspace into one of schema 8: groups are assigned to nobody, and have no comments."""
    _run(folder, WITHOUT_REVIEWERS)


def _run(folder, statements):
    (folder / "workspace.db.sha256").unlink(missing_ok=True)
    with closing(sqlite3.connect(folder / "workspace.db")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def without_networks(folder):
    """Turn a workspace into one of schema 5: models do not say which embedder they are of, since there was one."""
    without_reviewers(folder)
    with closing(sqlite3.connect(folder / "workspace.db", isolation_level=None)) as connection:
        (made,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'models'").fetchone()
        for gone in ("\tembedder_id INTEGER, \n", ", \n\tFOREIGN KEY(embedder_id) REFERENCES embedders (id)"):
            assert gone in made
            made = made.replace(gone, "")
        columns = [row[1] for row in connection.execute("PRAGMA table_info(models)") if row[1] != "embedder_id"]
        connection.execute("BEGIN")
        connection.execute(made.replace("CREATE TABLE models", "CREATE TABLE older_models"))
        connection.execute(f"INSERT INTO older_models SELECT {', '.join(columns)} FROM models")
        connection.execute("DROP TABLE models")
        connection.execute("ALTER TABLE older_models RENAME TO models")
        for table in ("trained_items", "captures", "stack_members", "class_names", "corrections", "held_out"):
            connection.execute(f"DROP TABLE {table}")
        for column in ("digest", "run"):
            connection.execute(f"ALTER TABLE embedders DROP COLUMN {column}")
        for column in ("seconds_left", "curves"):
            connection.execute(f"ALTER TABLE jobs DROP COLUMN {column}")
        connection.execute("UPDATE meta SET value = '5' WHERE key = 'schema'")
        connection.execute("COMMIT")
