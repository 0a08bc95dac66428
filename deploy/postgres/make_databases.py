"""Make a database and a user of the same name for each NAME=PASSWORD_VARIABLE that is given.

    python deploy/postgres/make_databases.py prefect=PREFECT_DATABASE_PASSWORD

What is there is left alone, but for the password. The server and its administrator come from
PGHOST, PGPORT, PGUSER and PGPASSWORD.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(wanted: Sequence[str]) -> int:
    """Make what is missing."""
    import psycopg2  # type: ignore[import-untyped]
    from psycopg2 import sql

    passwords = {}
    for pair in wanted:
        name, _, variable = pair.partition("=")
        if not name or not os.environ.get(variable):
            print(f"make_databases: {pair}: no variable of that name is set.", file=sys.stderr)
            return 2
        passwords[name] = os.environ[variable]
    try:
        connection = psycopg2.connect(dbname="postgres", connect_timeout=10)
    except psycopg2.OperationalError as error:
        print(f"make_databases: {str(error).strip()}; check PGHOST and the rest.", file=sys.stderr)
        return 1
    connection.autocommit = True  # a database is not made in a transaction
    with connection.cursor() as cursor:
        for name, password in passwords.items():
            own = sql.Identifier(name)
            cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [name])
            if cursor.fetchone() is None:
                cursor.execute(sql.SQL("CREATE ROLE {} LOGIN").format(own))
            cursor.execute(sql.SQL("ALTER ROLE {} PASSWORD %s").format(own), [password])
            cursor.execute("SELECT FROM pg_database WHERE datname = %s", [name])
            made = cursor.fetchone() is None
            if made:
                cursor.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(own, own))
            cursor.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(own))
            print(f"{name}: {'made' if made else 'was there'}")
    connection.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
