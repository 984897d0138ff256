# Runs the result of `npm run package` as an unprivileged user. The root file system may be read-only: only /data (persistent) and /tmp are
# written to. To build for both architectures: docker buildx build --platform linux/amd64,linux/arm64 --tag snug .

# Runs on the build machine's architecture, because nothing is compiled.
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
ARG TARGETARCH
WORKDIR /src
# For SCORING_SANDBOX=bwrap. The package is extracted instead of installed, which works for other architectures without emulation.
RUN dpkg --add-architecture "$TARGETARCH" && apt-get update \
  && apt-get download "bubblewrap:$TARGETARCH" && dpkg-deb --extract bubblewrap_*.deb /image && rm bubblewrap_*.deb
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev --loglevel=error
COPY . .
RUN npm run package -- --platform "linux-$(echo "$TARGETARCH" | sed 's/amd64/x64/')" --into /made \
  && rm /made/*.tar.gz && mv /made/snug-* /image/app \
  && install --directory --owner=1000 --group=1000 --mode=0700 /image/data

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="Snug" \
      org.opencontainers.image.description="A self-hosted package registry for Dart and Flutter teams" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /image /
ENV DATA_DIR=/data \
    MALLOC_ARENA_MAX=1 \
    NODE_COMPILE_CACHE=/data/.cache/node
# Missing required settings are created here, in `.env`.
WORKDIR /data
VOLUME /data
EXPOSE 8080
USER 1000:1000
# The first check runs after one interval, because Docker before version 25 does not support --start-interval. The start period covers migrations of
# large databases, which take minutes; the timeout covers busy machines, on which the check itself takes seconds to start.
HEALTHCHECK --interval=5s --timeout=10s --start-period=5m --retries=6 CMD ["node", "/app/snug", "ready"]
ENTRYPOINT ["node", "--max-semi-space-size=8", "--heap-growing-percent=50", "--v8-pool-size=1", "/app/snug"]
CMD ["start"]
