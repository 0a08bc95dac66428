"""Make the buckets that are missing; keys and endpoint come from the environment as AWS has them.

python deploy/s3/make_buckets.py BUCKET ...
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(buckets: Sequence[str]) -> int:
    """Make each bucket that is not there."""
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError

    if not buckets:
        print("make_buckets: name the buckets to make.", file=sys.stderr)
        return 2
    client = boto3.client("s3")
    try:
        there = {one["Name"] for one in client.list_buckets()["Buckets"]}
        for bucket in buckets:
            if bucket not in there:
                client.create_bucket(Bucket=bucket)
            print(f"{bucket}: {'was there' if bucket in there else 'made'}")
    except (BotoCoreError, ClientError) as error:
        print(f"make_buckets: {error}; check AWS_ENDPOINT_URL and the keys.", file=sys.stderr)
        return 1
    finally:
        client.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
