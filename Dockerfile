# OpenGCD's command line and service. By default for a processor; for NVIDIA GPUs: --build-arg ACCELERATOR=cuda.
# docs/how-to/container.md explains how to run it.
ARG ACCELERATOR=cpu
ARG PYTHON=3.13-slim-bookworm

FROM python:${PYTHON} AS base
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1

FROM base AS wheel
# The context has no repository to read the version from.
ARG VERSION=0.0
WORKDIR /source
COPY constraints.txt ./
RUN pip install --constraint constraints.txt build hatchling hatch-vcs
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN SETUPTOOLS_SCM_PRETEND_VERSION="${VERSION}" python -m build --no-isolation --wheel --outdir /wheel

FROM base AS torch-cpu
COPY constraints.txt /constraints.txt
# What torch depends on comes with the wheel of OpenGCD, below: this index has it in few versions.
RUN python -m venv /opt/opengcd \
    && /opt/opengcd/bin/pip install --constraint /constraints.txt --no-deps \
        --index-url https://download.pytorch.org/whl/cpu torch

FROM base AS torch-cuda
COPY constraints.txt /constraints.txt
RUN python -m venv /opt/opengcd && /opt/opengcd/bin/pip install --constraint /constraints.txt torch

# hadolint ignore=DL3006
FROM torch-${ACCELERATOR} AS environment
COPY --from=wheel /wheel /wheel
RUN set -- /wheel/*.whl \
    && /opt/opengcd/bin/pip install --constraint /constraints.txt "$1[adapt,heic,onnx,parquet,postgresql,service,video,xgb]"

FROM python:${PYTHON} AS service
LABEL org.opencontainers.image.title="OpenGCD" \
      org.opencontainers.image.description="Open-world recognition: recognise, reject, discover, review, learn." \
      org.opencontainers.image.source="https://github.com/opengcd/opengcd" \
      org.opencontainers.image.licenses="MIT"
# A fixed number, so that the owner of files on a volume stays the same from image to image.
RUN groupadd --gid 10001 opengcd \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /cache --shell /usr/sbin/nologin opengcd \
    && install --directory --owner=10001 --group=10001 --mode=0700 /workspaces /cache
COPY --from=environment /opt/opengcd /opt/opengcd
# Everything that libraries write besides the workspaces goes to /cache, such as downloaded networks, or to /tmp.
ENV PATH=/opt/opengcd/bin:${PATH} \
    HOME=/cache \
    HF_HOME=/cache/huggingface \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /workspaces
VOLUME ["/workspaces", "/cache"]
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz', timeout=8)"]
ENTRYPOINT ["opengcd"]
CMD ["serve", "/workspaces/main", "--host", "0.0.0.0"]
