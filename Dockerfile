# Image of the service. Configure it with FOREWARN_... variables:
# see docs/how-to/run-in-a-container.md.
# To pin the base image to a digest, run `scripts/pin-image`.
ARG PYTHON=3.11.14-slim-bookworm

FROM python:${PYTHON} AS build
WORKDIR /source
COPY requirements requirements
RUN python -m venv /opt/forewarn \
    && /opt/forewarn/bin/pip install --no-cache-dir --disable-pip-version-check \
        --require-hashes --requirement requirements/server.txt
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --no-cache-dir --disable-pip-version-check \
        --require-hashes --requirement requirements/build.txt
COPY pyproject.toml README.md LICENSE Dockerfile ./
COPY docs/man docs/man
COPY src src
COPY scripts/sbom scripts/sbom
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /opt/build . \
    && /opt/forewarn/bin/pip install --no-deps --no-index /opt/build/forewarn-*.whl \
    && /opt/forewarn/bin/python scripts/sbom /opt/forewarn/forewarn.cdx.json

FROM python:${PYTHON}
RUN groupadd --gid 10001 forewarn \
    && useradd --uid 10001 --gid 10001 --no-create-home \
        --home-dir /var/lib/forewarn --shell /usr/sbin/nologin forewarn \
    && install -d -m 0700 -o forewarn -g forewarn /var/lib/forewarn
COPY --from=build /opt/forewarn /opt/forewarn

# VMs can reach the metadata plane from outside the container. The control plane stays
# inside, where `docker exec` and the health check can reach it, so no token crosses a
# network.
ENV PATH=/opt/forewarn/bin:$PATH \
    FOREWARN_STATE_DIR=/var/lib/forewarn \
    FOREWARN_METADATA=0.0.0.0:8254 \
    FOREWARN_CONTROL=127.0.0.1:8255 \
    FOREWARN_FLEET=demo

# A numeric id, so that tools outside the container can verify that it is not root.
USER 10001:10001
WORKDIR /var/lib/forewarn
VOLUME /var/lib/forewarn
EXPOSE 8254 8255
HEALTHCHECK --interval=5s --timeout=10s --start-period=30s --retries=3 \
    CMD ["forewarn", "health"]
ENTRYPOINT ["forewarn"]
CMD ["serve"]
