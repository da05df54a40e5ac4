"""The tables of the database, and their version.

Rows of ``items``, ``training_labels``, ``exemplars``, ``held_out``, ``models`` and ``edits`` are only ever added; of a
model only the threshold changes, as it follows the stream. What a person or a discovery decides is in ``groups``,
``assignments``, ``stack_members``, ``class_names``, ``corrections`` and ``comments``, and which model is in use is in
``meta``: the edit log can restore these seven. Which embedder is in use follows from the model in use.
"""

from __future__ import annotations

import os
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.types import TypeDecorator

SCHEMA_VERSION = 10


class FilePath(TypeDecorator[str]):
    """A path as the file system has it, which need not be valid text."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        """Return the bytes of a path."""
        return None if value is None else os.fsencode(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        """Return the path of bytes."""
        return None if value is None else os.fsdecode(bytes(value))


metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("key", String, primary_key=True),
    Column("value", String, nullable=False),
)
items = Table(
    "items",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),  # of the file's content: a copy is the same item
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
)
paths = Table(
    "paths",
    metadata,
    Column("path", FilePath, primary_key=True),
    Column("item_id", ForeignKey("items.id"), nullable=False, index=True),
    Column("size", BigInteger, nullable=False),
    Column("mtime", BigInteger, nullable=False),
)
captures = Table(  # when an image was taken, and its perceptual hash, by which bursts are found
    "captures",
    metadata,
    Column("item_id", ForeignKey("items.id"), primary_key=True, autoincrement=False),
    Column("hash", String(16), nullable=False),  # perceptual: the fewer bits differ, the more two images look alike
    Column("taken", Float),  # seconds since 1970 by the camera's clock; none: not known
)
failures = Table(
    "failures",
    metadata,
    Column("path", FilePath, primary_key=True),
    Column("reason", String, nullable=False),
    Column("at", String, nullable=False),
)
without_crop = Table(  # whole images with nothing in them that a detector's boxes cut out; their records have them too
    "without_crop",
    metadata,
    Column("hash", String(64), primary_key=True),  # of the file's content
    Column("path", FilePath, nullable=False),
    Column("label", String, nullable=False),  # empty, or the categories of the other boxes
    Index("without_crop_in_order", "label", "path"),
)
embedders = Table(
    "embedders",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("fingerprint", String, nullable=False, unique=True),
    Column("name", String, nullable=False),
    Column("width", Integer, nullable=False),
    Column("digest", String(64)),  # of an adapted network: the SHA-256 of the index in its folder
    Column("run", String(64)),  # of an adapted network: a hash of all that it was made from
)
trained_items = Table(  # the items that an adapted network, or one that it was made from, was trained on
    "trained_items",
    metadata,
    Column("embedder_id", ForeignKey("embedders.id"), primary_key=True),
    Column("item_id", ForeignKey("items.id"), primary_key=True),
)
shards = Table(  # files of vectors, which are never changed
    "shards",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("embedder_id", ForeignKey("embedders.id"), nullable=False, index=True),
    Column("sha256", String(64), nullable=False),  # of the file, which has this name
    Column("rows", Integer, nullable=False),
    Column("retired", Boolean, nullable=False),  # its rows are in another shard now, and its file may be deleted
    sqlite_autoincrement=True,
)
features = Table(
    "features",
    metadata,
    Column("item_id", ForeignKey("items.id"), primary_key=True),
    Column("embedder_id", ForeignKey("embedders.id"), primary_key=True),
    Column("shard", Integer, nullable=False),  # the number of a shard
    Column("row", Integer, nullable=False),
    Index("features_by_place", "embedder_id", "shard", "row", unique=True),
)
models = Table(
    "models",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("parent", ForeignKey("models.id")),
    Column("phase", Integer, nullable=False),
    Column("classes", JSON, nullable=False),
    Column("at", String, nullable=False),
    Column("threshold", JSON(none_as_null=True)),  # of the unknown score, where the preset has one
    Column("report", JSON(none_as_null=True)),  # what was measured when it was made
    Column("digest", String(64)),  # the SHA-256 of the index in its folder
    Column("embedder_id", ForeignKey("embedders.id")),  # whose vectors it takes; none: the first embedder's
)
training_labels = Table(  # the items, with their labels, that a model was the first to be trained on; "": no longer
    "training_labels",
    metadata,
    Column("item_id", ForeignKey("items.id"), primary_key=True),
    Column("model_id", ForeignKey("models.id"), primary_key=True),
    Column("label", String, nullable=False),
)
exemplars = Table(  # the item of each row of a model's memory
    "exemplars",
    metadata,
    Column("model_id", ForeignKey("models.id"), primary_key=True),
    Column("row", Integer, primary_key=True, autoincrement=False),
    Column("item_id", ForeignKey("items.id")),  # none: a row of an older version whose item could not be found
)
held_out = Table(  # what a classifier that was not fitted on an exemplar says of it; none: it was not measured
    "held_out",
    metadata,
    Column("model_id", ForeignKey("models.id"), primary_key=True),
    Column("item_id", ForeignKey("items.id"), primary_key=True),
    Column("label", String, nullable=False),  # that it was learnt under
    Column("other", String, nullable=False),  # the most likely other class
    Column("own", Float, nullable=False),  # probability of the label
    Column("rival", Float, nullable=False),  # and of the other class
    Column("suspect", Boolean, nullable=False),  # the label is probably wrong
    Column("copy_id", ForeignKey("items.id")),  # a near copy with another label
)
predictions = Table(
    "predictions",
    metadata,
    Column("model_id", ForeignKey("models.id"), primary_key=True),
    Column("item_id", ForeignKey("items.id"), primary_key=True),
    Column("label", String),  # none: rejected
    Column("unknown", Float, nullable=False),
    Column("score", Float),  # unbounded, unlike the probability "unknown": the threshold is found from it
    Column("top", JSON, nullable=False),
)
groups = Table(
    "groups",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", String, nullable=False),  # novel, known (items returned to one), removed
    Column("label", String, nullable=False),  # provisional, by discovery
    Column("name", String),  # by a person; of a known class from the start
    Column("confirmed", Boolean, nullable=False),
    Column("cohesion", Float),  # the spread, under the name it had in the first version
    Column("probability", Float),
    Column("assignee", String),  # who is to review it
    Column("confirmed_by", JSON(none_as_null=True)),  # names, in the order of time; none: an older version confirmed it
    sqlite_autoincrement=True,  # an exported folder must not meet another group by an old number
)
assignments = Table(
    "assignments",
    metadata,
    Column("item_id", ForeignKey("items.id"), primary_key=True, autoincrement=False),
    Column("group_id", ForeignKey("groups.id", deferrable=True, initially="DEFERRED"), nullable=False),
    Column("rank", Integer, nullable=False),  # 0 is the most typical
    Column("by_person", Boolean, nullable=False),
    Column("probability", Float),  # of the group to be the right one, by discovery
    Index("assignments_in_order", "group_id", "rank", "item_id"),
)
stack_members = Table(  # near copies, which are reviewed together
    "stack_members",
    metadata,
    Column("item_id", ForeignKey("items.id"), primary_key=True, autoincrement=False),
    Column("stack", Integer, index=True),  # the first item of the stack; none: a person has opened the item's stack
)
class_names = Table(  # the present names of classes that were renamed; other tables keep the name of the learning
    "class_names",
    metadata,
    Column("label", String, primary_key=True),  # as models, training labels and predictions have it
    Column("name", String, nullable=False),
)
corrections = Table(  # labels that people have given to learnt images since
    "corrections",
    metadata,
    Column("item_id", ForeignKey("items.id"), primary_key=True, autoincrement=False),
    Column("label", String),  # the present name of its class; none: it is not to be learnt
)
comments = Table(  # on groups; who wrote one, and when, is in the edit log
    "comments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("group_id", ForeignKey("groups.id", deferrable=True, initially="DEFERRED"), nullable=False, index=True),
    Column("text", String, nullable=False),
    sqlite_autoincrement=True,  # the log has the numbers of those that were undone
)
edits = Table(
    "edits",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", String, nullable=False),
    Column("who", String, nullable=False),
    Column("verb", String, nullable=False),
    Column("details", JSON, nullable=False),
    Column("before", JSON(none_as_null=True)),  # rows as they were; none where there is nothing to undo
    Column("undoes", ForeignKey("edits.id")),
    Column("members", JSON(none_as_null=True)),  # groups that items have left or entered
    Index("edits_by_undoes", "undoes"),
    Index("edits_by_verb", "verb"),
    sqlite_autoincrement=True,
)
jobs = Table(  # long work that was asked for through the service
    "jobs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("verb", String, nullable=False),
    Column("arguments", JSON, nullable=False),
    Column("who", String, nullable=False),
    Column("at", String, nullable=False),
    Column("state", String, nullable=False),  # waiting, running, done, failed, cancelled
    Column("stage", String, nullable=False),
    Column("done", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("result", JSON(none_as_null=True)),
    Column("error", String),
    Column("cancel", Boolean, nullable=False),  # somebody wants it to end
    Column("seconds_left", Float),  # as it is estimated
    Column("curves", JSON(none_as_null=True)),  # of a training: points by the name of the curve
    sqlite_autoincrement=True,
)
tokens = Table(  # who may use the service; secrets are random, and only their hash is here
    "tokens",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("name", String, nullable=False),
    Column("scope", String, nullable=False),  # read, write
    Column("at", String, nullable=False),
    Column("expires", String),  # none: it does not
    Column("once", Boolean, nullable=False),  # it logs in once and is used up
    sqlite_autoincrement=True,
)
sessions = Table(  # browsers that are logged in
    "sessions",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("token_id", ForeignKey("tokens.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("who", String, nullable=False),
    Column("expires", String, nullable=False),
)


def schema_version(connection: Connection) -> int | None:
    """Return the version of a database; None if it is empty."""
    if not inspect(connection).has_table("meta"):
        return None
    return int(connection.scalar(select(meta.c.value).where(meta.c.key == "schema")) or 0)


def write_meta(connection: Connection, key: str, value: str) -> None:
    """Set a value of ``meta``, new or present."""
    if not connection.execute(update(meta).where(meta.c.key == key).values(value=value)).rowcount:
        connection.execute(insert(meta).values(key=key, value=value))
