# What `npm run package` makes, run by an account without rights. The root file system may be read-only: only /data (to keep) and /tmp are
# written to. For both architectures: docker buildx build --platform linux/amd64,linux/arm64 --tag snug .

# Runs on the machine that builds, whatever the image is for: nothing in it is compiled.
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
ARG TARGETARCH
WORKDIR /src
# For SCORING_SANDBOX=bwrap. Extracting the package instead of installing it works for another architecture without an emulator.
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
# Settings that are missing are made here, in a file .env.
WORKDIR /data
VOLUME /data
EXPOSE 8080
USER 1000:1000
# The first check runs after one interval; Docker before version 25 does not build with --start-interval. Migrations of a large database take
# minutes, and a busy machine needs seconds to start the check.
HEALTHCHECK --interval=5s --timeout=10s --start-period=5m --retries=6 CMD ["node", "/app/snug", "ready"]
ENTRYPOINT ["node", "--max-semi-space-size=8", "--heap-growing-percent=50", "--v8-pool-size=1", "/app/snug"]
CMD ["start"]
