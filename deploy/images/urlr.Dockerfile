# Two images of one file; from the root of the repository:
#
#   docker build --file deploy/images/urlr.Dockerfile --target worker --tag urlr-worker .
#   docker build --file deploy/images/urlr.Dockerfile --target flow --tag urlr-flow .
#
# worker   what a Dask scheduler and its workers need
# flow     the same, with the drivers of PostgreSQL and deploy/: the flows, and the servers of
#          Prefect and MLflow in the very versions that the flows are tested with

FROM python:3.11-slim AS install
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /venv
ENV PATH=/venv/bin:$PATH
WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY urlr urlr
COPY tasks tasks
COPY flows flows
RUN pip install --constraint constraints.txt . && pip check

FROM install AS install-flow
RUN pip install --constraint constraints.txt '.[deploy]' && pip check

FROM python:3.11-slim AS base
RUN useradd --uid 10001 --create-home urlr \
    && mkdir /tls /store-tls /identities /metrics /var/lib/prefect \
    && chown urlr: /tls /store-tls /identities /metrics /var/lib/prefect
# One thread of linear algebra per process: workers are many, and with more the same votes need not
# give the same bytes.
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1 \
    OMP_NUM_THREADS=1 \
    NUMBA_NUM_THREADS=1 \
    NUMBA_CACHE_DIR=/tmp/numba \
    DO_NOT_TRACK=1 \
    MLFLOW_DISABLE_TELEMETRY=true \
    PREFECT_SERVER_ANALYTICS_ENABLED=false
WORKDIR /app

FROM base AS worker
COPY --from=install /venv /venv
USER 10001
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8789/health', timeout=3)"]
CMD ["dask", "worker", "--help"]

FROM base AS flow
COPY --from=install-flow /venv /venv
COPY flows flows
COPY deploy deploy
USER 10001
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/health', timeout=3)"]
CMD ["urlr", "--help"]
