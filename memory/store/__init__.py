"""SQL: plain functions over a session, one module per subject, and the database they run in.

Functions here are synchronous and never commit. A caller opens one transaction with
`Database.write` or `Database.read` and composes them in it.
"""
