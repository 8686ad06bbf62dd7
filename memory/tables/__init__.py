"""SQLModel rows. They are the schema and never leave `memory`; `types` holds what callers see.

Every table that holds words, or anything made from words, carries `audience_id`, so that a read
can be limited to readable places by structure. Ids are never reused (AUTOINCREMENT): an id in a
link, a trace or a cache can never come to mean something else.
"""

from __future__ import annotations

from memory.tables.base import (
    AudienceRow,
    UtcDateTime,
)
from memory.tables.conversation import (
    ClaimRow,
    InboxRow,
    LineagePlaceRow,
    LineageRow,
    MessageRow,
    PersonRow,
    PlaceMemberRow,
    PlaceRow,
    TraceRow,
)
from memory.tables.facts import (
    EvidenceRow,
    ExtractionRow,
    FactChangeRow,
    FactRow,
    SummaryRow,
    SummarySourceRow,
    TombstoneRow,
)
from memory.tables.knowledge import (
    ChunkRow,
    DataSourceRow,
    KnowledgeBaseMeanRow,
    KnowledgeBaseRow,
    RoutingFeedbackRow,
    SourceDataRow,
    SourceRow,
)
from memory.tables.operations import (
    JobRunRow,
    KeyValueRow,
    LeaseRow,
    ReminderRow,
    TokenRow,
)
from memory.tables.search import (
    AudienceVersionRow,
    EmbeddingModelRow,
    EmbeddingQueueRow,
    EmbeddingRow,
    LexicalEntryRow,
    LexicalStatisticsRow,
    PostingRow,
)

__all__ = [
    "AudienceRow",
    "AudienceVersionRow",
    "ChunkRow",
    "ClaimRow",
    "DataSourceRow",
    "EmbeddingModelRow",
    "EmbeddingQueueRow",
    "EmbeddingRow",
    "EvidenceRow",
    "ExtractionRow",
    "FactChangeRow",
    "FactRow",
    "InboxRow",
    "JobRunRow",
    "KeyValueRow",
    "KnowledgeBaseMeanRow",
    "KnowledgeBaseRow",
    "LeaseRow",
    "LexicalEntryRow",
    "LexicalStatisticsRow",
    "LineagePlaceRow",
    "LineageRow",
    "MessageRow",
    "PersonRow",
    "PlaceMemberRow",
    "PlaceRow",
    "PostingRow",
    "ReminderRow",
    "RoutingFeedbackRow",
    "SourceDataRow",
    "SourceRow",
    "SummaryRow",
    "SummarySourceRow",
    "TokenRow",
    "TombstoneRow",
    "TraceRow",
    "UtcDateTime",
]
