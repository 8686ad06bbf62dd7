"""The first schema

Revision: 0001
Follows:
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

import memory.tables

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audience",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audience")),
        sa.UniqueConstraint("name", name=op.f("uq_audience_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "claim",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("inbox_id", sa.Integer(), nullable=False),
        sa.Column("claimed_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_claim")),
    )
    with op.batch_alter_table("claim", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_claim_claimed_at"), ["claimed_at"], unique=False)

    op.create_table(
        "embedding_model",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("mean", sa.LargeBinary(), nullable=False),
        sa.Column("background_mean", sa.Float(), nullable=False),
        sa.Column("background_std", sa.Float(), nullable=False),
        sa.Column("serving", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_embedding_model")),
        sa.UniqueConstraint("name", name=op.f("uq_embedding_model_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "inbox",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("platform", sa.String(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("delivery", sa.String(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=True),
        sa.Column("received_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("reply_ref", sa.String(), nullable=True),
        sa.Column("done_at", memory.tables.UtcDateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_inbox")),
        sa.UniqueConstraint(
            "platform", "tenant", "delivery", name=op.f("uq_inbox_platform_tenant_delivery")
        ),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("inbox", schema=None) as batch_op:
        batch_op.create_index("ix_inbox_open", ["done_at", "id"], unique=False)

    op.create_table(
        "job_run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("slot", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("started_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("finished_at", memory.tables.UtcDateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_run")),
        sa.UniqueConstraint("job", "slot", name=op.f("uq_job_run_job_slot")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("job_run", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_job_run_started_at"), ["started_at"], unique=False)

    op.create_table(
        "key_value",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_key_value")),
    )
    op.create_table(
        "lease",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("expires_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lease")),
    )
    op.create_table(
        "lineage",
        sa.Column("derived", sa.Integer(), nullable=False),
        sa.Column("source", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("derived", "source", name=op.f("pk_lineage")),
        sqlite_with_rowid=False,
    )
    with op.batch_alter_table("lineage", schema=None) as batch_op:
        batch_op.create_index("ix_lineage_source", ["source"], unique=False)

    op.create_table(
        "person",
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("quiet", sa.Boolean(), nullable=False),
        sa.Column("locale", sa.String(), nullable=True),
        sa.Column("time_zone", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("person", name=op.f("pk_person")),
    )
    op.create_table(
        "place",
        sa.Column("audience", sa.String(), nullable=False),
        sa.Column("public", sa.Boolean(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("listen", sa.Boolean(), nullable=False),
        sa.Column("greeted", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("audience", name=op.f("pk_place")),
    )
    op.create_table(
        "place_member",
        sa.Column("audience", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("audience", "person", name=op.f("pk_place_member")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", memory.tables.UtcDateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("digest", name=op.f("uq_token_digest")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("token", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_token_person"), ["person"], unique=False)

    op.create_table(
        "tombstone",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("forgotten_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_tombstone")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "audience_version",
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_audience_version_audience_id_audience")
        ),
        sa.ForeignKeyConstraint(
            ["model_id"],
            ["embedding_model.id"],
            name=op.f("fk_audience_version_model_id_embedding_model"),
        ),
        sa.PrimaryKeyConstraint("audience_id", "model_id", name=op.f("pk_audience_version")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "data_source",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
        sa.Column("location", sa.String(), nullable=False),
        sa.Column("registered_by", sa.String(), nullable=False),
        sa.Column("registered_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_data_source_audience_id_audience")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_data_source")),
        sa.UniqueConstraint(
            "audience_id", "name_key", name=op.f("uq_data_source_audience_id_name_key")
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "embedding",
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Integer(), nullable=False),
        sa.Column("text_hash", sa.LargeBinary(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_embedding_audience_id_audience")
        ),
        sa.ForeignKeyConstraint(
            ["model_id"], ["embedding_model.id"], name=op.f("fk_embedding_model_id_embedding_model")
        ),
        sa.PrimaryKeyConstraint("audience_id", "model_id", "owner", name=op.f("pk_embedding")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "embedding_queue",
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Integer(), nullable=False),
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_embedding_queue_audience_id_audience")
        ),
        sa.ForeignKeyConstraint(
            ["model_id"],
            ["embedding_model.id"],
            name=op.f("fk_embedding_queue_model_id_embedding_model"),
        ),
        sa.PrimaryKeyConstraint("model_id", "owner", name=op.f("pk_embedding_queue")),
    )
    with op.batch_alter_table("embedding_queue", schema=None) as batch_op:
        batch_op.create_index("ix_embedding_queue_due", ["model_id", "due_at"], unique=False)

    op.create_table(
        "fact",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("speaker", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("text_key", sa.LargeBinary(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("attribute", sa.String(), nullable=True),
        sa.Column("negated", sa.Boolean(), nullable=False),
        sa.Column("said_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("learned_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("valid_from", memory.tables.UtcDateTime(timezone=True), nullable=True),
        sa.Column("valid_until", memory.tables.UtcDateTime(timezone=True), nullable=True),
        sa.Column("superseded_by", sa.Integer(), nullable=True),
        sa.Column("confirmed", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_fact_audience_id_audience")
        ),
        sa.ForeignKeyConstraint(
            ["superseded_by"], ["fact.id"], name=op.f("fk_fact_superseded_by_fact")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fact")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("fact", schema=None) as batch_op:
        batch_op.create_index("ix_fact_exact", ["audience_id", "subject", "text_key"], unique=False)
        batch_op.create_index("ix_fact_speaker", ["speaker", "audience_id"], unique=False)
        batch_op.create_index("ix_fact_subject", ["subject", "audience_id"], unique=False)
        batch_op.create_index("ix_fact_superseded_by", ["superseded_by"], unique=False)

    op.create_table(
        "fact_change",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("fact_id", sa.Integer(), nullable=False),
        sa.Column("change", sa.String(), nullable=False),
        sa.Column("cause", sa.Integer(), nullable=True),
        sa.Column("changed_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_fact_change_audience_id_audience")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fact_change")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("fact_change", schema=None) as batch_op:
        batch_op.create_index("ix_fact_change_fact_id", ["fact_id", "audience_id"], unique=False)

    op.create_table(
        "knowledge_base",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("collects", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_knowledge_base_audience_id_audience")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_knowledge_base")),
        sa.UniqueConstraint(
            "audience_id", "name_key", name=op.f("uq_knowledge_base_audience_id_name_key")
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "lexical_entry",
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Integer(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("terms", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_lexical_entry_audience_id_audience")
        ),
        sa.PrimaryKeyConstraint("audience_id", "owner", name=op.f("pk_lexical_entry")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lexical_statistics",
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("documents", sa.Integer(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"],
            ["audience.id"],
            name=op.f("fk_lexical_statistics_audience_id_audience"),
        ),
        sa.PrimaryKeyConstraint("audience_id", name=op.f("pk_lexical_statistics")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "message",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("platform_id", sa.String(), nullable=False),
        sa.Column("conversation", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("author", sa.String(), nullable=True),
        sa.Column("author_name", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("text_key", sa.LargeBinary(), nullable=False),
        sa.Column("sent_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("stored_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("permalink", sa.String(), nullable=True),
        sa.Column("revision", sa.String(), nullable=False),
        sa.Column("time_zone", sa.String(), nullable=False),
        sa.Column("mentions", sa.JSON(), nullable=False),
        sa.Column("findable", sa.Boolean(), nullable=False),
        sa.Column("expired", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_message_audience_id_audience")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_message")),
        sa.UniqueConstraint(
            "audience_id", "platform_id", name=op.f("uq_message_audience_id_platform_id")
        ),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("message", schema=None) as batch_op:
        batch_op.create_index(
            "ix_message_author", ["author", "audience_id", "text_key"], unique=False
        )
        batch_op.create_index(
            "ix_message_conversation", ["audience_id", "conversation", "sent_at"], unique=False
        )
        batch_op.create_index("ix_message_permalink", ["permalink"], unique=False)
        batch_op.create_index("ix_message_platform_id", ["platform_id"], unique=False)

    op.create_table(
        "posting",
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("term", sa.String(), nullable=False),
        sa.Column("owner", sa.Integer(), nullable=False),
        sa.Column("frequency", sa.Integer(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_posting_audience_id_audience")
        ),
        sa.PrimaryKeyConstraint("audience_id", "term", "owner", name=op.f("pk_posting")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "reminder",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("author_name", sa.String(), nullable=False),
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("conversation", sa.String(), nullable=False),
        sa.Column("message_key", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("schedule", sa.JSON(), nullable=False),
        sa.Column("time_zone", sa.String(), nullable=False),
        sa.Column("locale", sa.String(), nullable=False),
        sa.Column("created_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("next_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("last_at", memory.tables.UtcDateTime(timezone=True), nullable=True),
        sa.Column("posting_since", memory.tables.UtcDateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_reminder_audience_id_audience")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reminder")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("reminder", schema=None) as batch_op:
        batch_op.create_index("ix_reminder_due", ["next_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_reminder_message_key"), ["message_key"], unique=False)
        batch_op.create_index(batch_op.f("ix_reminder_person"), ["person"], unique=False)

    op.create_table(
        "summary",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("about", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("made_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_summary_audience_id_audience")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_summary")),
        sa.UniqueConstraint(
            "audience_id", "kind", "about", name=op.f("uq_summary_audience_id_kind_about")
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "evidence",
        sa.Column("fact_id", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["fact_id"], ["fact.id"], name=op.f("fk_evidence_fact_id_fact")),
        sa.ForeignKeyConstraint(
            ["message_id"], ["message.id"], name=op.f("fk_evidence_message_id_message")
        ),
        sa.PrimaryKeyConstraint("fact_id", "message_id", "start", name=op.f("pk_evidence")),
        sqlite_with_rowid=False,
    )
    with op.batch_alter_table("evidence", schema=None) as batch_op:
        batch_op.create_index("ix_evidence_message_id", ["message_id"], unique=False)

    op.create_table(
        "extraction_queue",
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("conversation", sa.String(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("queued_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("due_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_extraction_queue_audience_id_audience")
        ),
        sa.ForeignKeyConstraint(
            ["message_id"], ["message.id"], name=op.f("fk_extraction_queue_message_id_message")
        ),
        sa.PrimaryKeyConstraint("message_id", name=op.f("pk_extraction_queue")),
    )
    with op.batch_alter_table("extraction_queue", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_extraction_queue_author"), ["author"], unique=False)
        batch_op.create_index(
            "ix_extraction_queue_conversation",
            ["audience_id", "conversation", "message_id"],
            unique=False,
        )
        batch_op.create_index("ix_extraction_queue_due", ["due_at"], unique=False)

    op.create_table(
        "knowledge_base_mean",
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("made_from", sa.String(), nullable=False),
        sa.Column("vectors", sa.Integer(), nullable=False),
        sa.Column("mean", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"],
            ["knowledge_base.id"],
            name=op.f("fk_knowledge_base_mean_base_id_knowledge_base"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["model_id"],
            ["embedding_model.id"],
            name=op.f("fk_knowledge_base_mean_model_id_embedding_model"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("base_id", "model_id", name=op.f("pk_knowledge_base_mean")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "source",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("platform_id", sa.String(), nullable=False),
        sa.Column("message_id", sa.String(), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("added_by", sa.String(), nullable=False),
        sa.Column("added_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("permalink", sa.String(), nullable=True),
        sa.Column("removed", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_source_audience_id_audience")
        ),
        sa.ForeignKeyConstraint(
            ["base_id"], ["knowledge_base.id"], name=op.f("fk_source_base_id_knowledge_base")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_source")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("source", schema=None) as batch_op:
        batch_op.create_index("ix_source_digest", ["base_id", "digest"], unique=False)
        batch_op.create_index(batch_op.f("ix_source_message_id"), ["message_id"], unique=False)
        batch_op.create_index("ix_source_platform_id", ["audience_id", "platform_id"], unique=False)

    op.create_table(
        "summary_source",
        sa.Column("summary_id", sa.Integer(), nullable=False),
        sa.Column("source", sa.Integer(), nullable=False),
        sa.Column("text_key", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["summary_id"], ["summary.id"], name=op.f("fk_summary_source_summary_id_summary")
        ),
        sa.PrimaryKeyConstraint("summary_id", "source", name=op.f("pk_summary_source")),
        sqlite_with_rowid=False,
    )
    with op.batch_alter_table("summary_source", schema=None) as batch_op:
        batch_op.create_index("ix_summary_source_source", ["source"], unique=False)

    op.create_table(
        "trace",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("asker", sa.String(), nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=True),
        sa.Column("reply_id", sa.Integer(), nullable=True),
        sa.Column("created_at", memory.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("steps", sa.JSON(), nullable=False),
        sa.Column("rating", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_trace_audience_id_audience")
        ),
        sa.ForeignKeyConstraint(
            ["message_id"], ["message.id"], name=op.f("fk_trace_message_id_message")
        ),
        sa.ForeignKeyConstraint(
            ["reply_id"], ["message.id"], name=op.f("fk_trace_reply_id_message")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trace")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("trace", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_trace_message_id"), ["message_id"], unique=False)
        batch_op.create_index("ix_trace_rating", ["rating"], unique=False)
        batch_op.create_index("ix_trace_reply_id", ["reply_id"], unique=False)

    op.create_table(
        "chunk",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("source_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("headings", sa.JSON(), nullable=False),
        sa.Column("context", sa.String(), nullable=False),
        sa.Column("columns", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("findable", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_chunk_audience_id_audience")
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["source.id"], name=op.f("fk_chunk_source_id_source")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chunk")),
        sa.UniqueConstraint("source_id", "number", name=op.f("uq_chunk_source_id_number")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("chunk", schema=None) as batch_op:
        batch_op.create_index("ix_chunk_findable", ["findable"], unique=False)

    op.create_table(
        "routing_feedback",
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("audience_id", sa.Integer(), nullable=False),
        sa.Column("rating", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audience.id"], name=op.f("fk_routing_feedback_audience_id_audience")
        ),
        sa.ForeignKeyConstraint(
            ["base_id"],
            ["knowledge_base.id"],
            name=op.f("fk_routing_feedback_base_id_knowledge_base"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["trace_id"],
            ["trace.id"],
            name=op.f("fk_routing_feedback_trace_id_trace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("trace_id", name=op.f("pk_routing_feedback")),
    )
    with op.batch_alter_table("routing_feedback", schema=None) as batch_op:
        batch_op.create_index("ix_routing_feedback_base_id", ["base_id"], unique=False)

    op.create_table(
        "source_data",
        sa.Column("source_id", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"],
            ["source.id"],
            name=op.f("fk_source_data_source_id_source"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("source_id", name=op.f("pk_source_data")),
    )


def downgrade() -> None:
    op.drop_table("source_data")
    with op.batch_alter_table("routing_feedback", schema=None) as batch_op:
        batch_op.drop_index("ix_routing_feedback_base_id")

    op.drop_table("routing_feedback")
    with op.batch_alter_table("chunk", schema=None) as batch_op:
        batch_op.drop_index("ix_chunk_findable")

    op.drop_table("chunk")
    with op.batch_alter_table("trace", schema=None) as batch_op:
        batch_op.drop_index("ix_trace_reply_id")
        batch_op.drop_index("ix_trace_rating")
        batch_op.drop_index(batch_op.f("ix_trace_message_id"))

    op.drop_table("trace")
    with op.batch_alter_table("summary_source", schema=None) as batch_op:
        batch_op.drop_index("ix_summary_source_source")

    op.drop_table("summary_source")
    with op.batch_alter_table("source", schema=None) as batch_op:
        batch_op.drop_index("ix_source_platform_id")
        batch_op.drop_index(batch_op.f("ix_source_message_id"))
        batch_op.drop_index("ix_source_digest")

    op.drop_table("source")
    op.drop_table("knowledge_base_mean")
    with op.batch_alter_table("extraction_queue", schema=None) as batch_op:
        batch_op.drop_index("ix_extraction_queue_due")
        batch_op.drop_index("ix_extraction_queue_conversation")
        batch_op.drop_index(batch_op.f("ix_extraction_queue_author"))

    op.drop_table("extraction_queue")
    with op.batch_alter_table("evidence", schema=None) as batch_op:
        batch_op.drop_index("ix_evidence_message_id")

    op.drop_table("evidence")
    op.drop_table("summary")
    with op.batch_alter_table("reminder", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_reminder_person"))
        batch_op.drop_index(batch_op.f("ix_reminder_message_key"))
        batch_op.drop_index("ix_reminder_due")

    op.drop_table("reminder")
    op.drop_table("posting")
    with op.batch_alter_table("message", schema=None) as batch_op:
        batch_op.drop_index("ix_message_platform_id")
        batch_op.drop_index("ix_message_permalink")
        batch_op.drop_index("ix_message_conversation")
        batch_op.drop_index("ix_message_author")

    op.drop_table("message")
    op.drop_table("lexical_statistics")
    op.drop_table("lexical_entry")
    op.drop_table("knowledge_base")
    with op.batch_alter_table("fact_change", schema=None) as batch_op:
        batch_op.drop_index("ix_fact_change_fact_id")

    op.drop_table("fact_change")
    with op.batch_alter_table("fact", schema=None) as batch_op:
        batch_op.drop_index("ix_fact_superseded_by")
        batch_op.drop_index("ix_fact_subject")
        batch_op.drop_index("ix_fact_speaker")
        batch_op.drop_index("ix_fact_exact")

    op.drop_table("fact")
    with op.batch_alter_table("embedding_queue", schema=None) as batch_op:
        batch_op.drop_index("ix_embedding_queue_due")

    op.drop_table("embedding_queue")
    op.drop_table("embedding")
    op.drop_table("data_source")
    op.drop_table("audience_version")
    op.drop_table("tombstone")
    with op.batch_alter_table("token", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_token_person"))

    op.drop_table("token")
    op.drop_table("place_member")
    op.drop_table("place")
    op.drop_table("person")
    with op.batch_alter_table("lineage", schema=None) as batch_op:
        batch_op.drop_index("ix_lineage_source")

    op.drop_table("lineage")
    op.drop_table("lease")
    op.drop_table("key_value")
    with op.batch_alter_table("job_run", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_job_run_started_at"))

    op.drop_table("job_run")
    with op.batch_alter_table("inbox", schema=None) as batch_op:
        batch_op.drop_index("ix_inbox_open")

    op.drop_table("inbox")
    op.drop_table("embedding_model")
    with op.batch_alter_table("claim", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_claim_claimed_at"))

    op.drop_table("claim")
    op.drop_table("audience")
