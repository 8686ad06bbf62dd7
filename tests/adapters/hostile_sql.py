"""Statements that must be refused, or do no harm within the limits."""

from __future__ import annotations

REFUSED = (
    # writes
    "INSERT INTO orders VALUES (9, 'x', 1)",
    "UPDATE orders SET amount = 0",
    "DELETE FROM orders",
    "REPLACE INTO orders VALUES (1, 'x', 1)",
    "MERGE INTO orders USING customers ON true WHEN MATCHED THEN DELETE",
    "TRUNCATE TABLE orders",
    # schema
    "DROP TABLE orders",
    "CREATE TABLE evil (x)",
    "CREATE TEMP TABLE evil AS SELECT * FROM orders",
    "CREATE VIEW evil AS SELECT * FROM orders",
    "CREATE TRIGGER evil AFTER INSERT ON orders BEGIN DELETE FROM orders; END",
    "ALTER TABLE orders RENAME TO evil",
    "CREATE INDEX evil ON orders (amount)",
    "CREATE FUNCTION evil() RETURNS int LANGUAGE sql AS 'select 1'",
    # other commands
    "ATTACH DATABASE '/etc/passwd' AS other",
    "DETACH DATABASE main",
    "PRAGMA table_info(orders)",
    "PRAGMA writable_schema = 1",
    "VACUUM INTO '/tmp/evil.db'",
    "REINDEX",
    "ANALYZE orders",
    "EXPLAIN SELECT * FROM orders",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT evil",
    "SET statement_timeout = 0",
    "GRANT ALL ON orders TO public",
    "COPY orders TO '/tmp/evil.csv'",
    "COPY orders FROM PROGRAM 'id'",
    "CALL evil()",
    "DO $$ BEGIN DELETE FROM orders; END $$",
    "LISTEN evil",
    "LOAD '/tmp/evil.so'",
    # several statements
    "SELECT * FROM orders; DELETE FROM orders",
    "SELECT 1; SELECT 2",
    "; DELETE FROM orders",
    "SELECT * FROM orders; -- comment\nDROP TABLE orders",
    # writes in disguise
    "SELECT * INTO evil FROM orders",
    "WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone",
    "SELECT * FROM orders FOR UPDATE",
    # functions
    "SELECT load_extension('/tmp/evil.so')",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('/tmp/evil', 'x')",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_sleep(100)",
    "SELECT lo_import('/etc/passwd')",
    "SELECT dblink('host=evil', 'select 1')",
    "SELECT set_config('statement_timeout', '0', false)",
    "SELECT randomblob(1000000000)",
    "SELECT hex(zeroblob(1000000000))",
    "SELECT printf('%.*c', 1000000000, 'x')",
    "SELECT repeat('x', 1000000000)",
    "SELECT group_concat(customer) FROM orders",
    "SELECT current_user",
    "SELECT * FROM generate_series(1, 1000000000)",
    "SELECT * FROM pragma_table_info('orders')",
    "SELECT * FROM json_each('[1,2]')",
    # system tables and others
    "SELECT * FROM sqlite_master",
    "SELECT name FROM orders UNION SELECT sql FROM sqlite_schema",
    "SELECT customer FROM orders UNION ALL SELECT tbl_name FROM main.sqlite_master",
    "SELECT * FROM pg_catalog.pg_shadow",
    "SELECT * FROM information_schema.tables",
    "SELECT (SELECT passwd FROM pg_shadow LIMIT 1) FROM orders",
    "SELECT * FROM other.orders",
    "SELECT * FROM secrets",
    "SELECT 'pg_shadow'::regclass",
    # names that WITH defines elsewhere than where they are used
    "WITH secrets AS (SELECT * FROM secrets) SELECT * FROM secrets",
    "SELECT * FROM (WITH secrets AS (SELECT 1 AS a) SELECT a FROM secrets) x, secrets",
    "SELECT * FROM secrets WHERE 1 IN (WITH secrets AS (SELECT 1 AS a) SELECT a FROM secrets)",
    "WITH a AS (SELECT * FROM secrets), secrets AS (SELECT 1 AS b) SELECT * FROM a",
    'WITH "SECRETS" AS (SELECT 1 AS a) SELECT * FROM secrets',
    # endless
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
    "SELECT * FROM orders a, orders b, orders c, orders d, orders e, orders f, orders g, orders h,"
    " orders i",
    # nonsense
    "",
    "   ",
    "-- only a comment",
    "/* SELECT * FROM orders",
    "SELECT * FROM orders WHERE",
    "VALUES (1), (2)",
    "not sql at all",
    "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    "SELECT '" + "x" * 20_000 + "'",
)

EXPENSIVE = (
    "SELECT count(*) FROM numbers a, numbers b, numbers c, numbers d",
    "SELECT sum(a.n * b.n * c.n) FROM numbers a JOIN numbers b JOIN numbers c JOIN numbers d",
    "SELECT * FROM numbers a, numbers b, numbers c ORDER BY a.n * b.n * c.n DESC",
)
"""Allowed statements that would take hours or gigabytes."""
