"""The places behind a reply, which every search asks for, in a table of their own.

Revision: 0002
Follows: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# By the low two bits of a key: see `memory.types.Kind`. Until now a reply had a row for each
# source of its sources as well, so one step finds every place.
_SOURCES = (("fact", 0), ("message", 1), ("chunk", 2))


def upgrade() -> None:
    op.create_table(
        "lineage_place",
        sa.Column("derived", sa.Integer(), nullable=False),
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_lineage_place_audience_id_audience")
        ),
        sa.PrimaryKeyConstraint("derived", "audience_id", name=op.f("pk_lineage_place")),
        sqlite_with_rowid=False,
    )
    reply, lineage = _table("message", "id", "audience_id"), _table("lineage", "derived", "source")
    made = _table("lineage_place", "derived", "audience_id")
    for name, kind in _SOURCES:
        source = _table(name, "id", "audience_id").alias("source_record")
        is_source = sa.and_(
            lineage.c.source.op("&")(3) == kind, source.c.id == lineage.c.source.op(">>")(2)
        )
        found = (
            sa.select(lineage.c.derived, source.c.audience_id)
            .select_from(lineage)
            .join(source, is_source)
            .join(reply, reply.c.id == lineage.c.derived.op(">>")(2))
            .where(source.c.audience_id != reply.c.audience_id)
            .except_(sa.select(made.c.derived, made.c.audience_id))
        )
        op.execute(sa.insert(made).from_select(["derived", "audience_id"], found))


def _table(name: str, *columns: str) -> sa.TableClause:
    return sa.table(name, *(sa.column(column, sa.Integer) for column in columns))


def downgrade() -> None:
    op.drop_table("lineage_place")
