# What `npm run package` makes, run by an account without rights. The root file system may be read-only: only /data (to keep) and /tmp are
# written to. For both architectures: docker buildx build --platform linux/amd64,linux/arm64 --tag snug .

# Runs on the machine that builds, whatever the image is for: nothing in it is compiled.
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev --loglevel=error
COPY . .
ARG TARGETARCH
RUN npm run package -- --platform "linux-$(echo "$TARGETARCH" | sed 's/amd64/x64/')" --into /made \
  && rm /made/*.tar.gz && mv /made/snug-* /made/snug \
  && mkdir /made/data

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="Snug" \
      org.opencontainers.image.description="A self-hosted package registry for Dart and Flutter teams" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /made/snug /app
COPY --from=build --chown=1000:1000 --chmod=0700 /made/data /data
ENV DATA_DIR=/data \
    MALLOC_ARENA_MAX=1 \
    NODE_COMPILE_CACHE=/data/.cache/node
# Settings that are missing are made here, in a file .env.
WORKDIR /data
VOLUME /data
EXPOSE 8080
USER 1000:1000
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --start-interval=2s CMD ["node", "/app/snug", "ready"]
ENTRYPOINT ["node", "--max-semi-space-size=8", "--heap-growing-percent=50", "--v8-pool-size=1", "/app/snug"]
CMD ["start"]
