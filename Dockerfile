FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json tsconfig.json rolldown.config.ts ./
COPY src ./src
# Of no use in the image: addons for another C library or for one version of Node.js only (node.napi
# fits all), types and source maps, sources in TypeScript and C, a package's test data, and a compiler,
# which a package would take for types if it is there.
RUN npm ci \
  && npm prune --omit=dev \
  && find node_modules -type f -regextype egrep \
    -regex '.*(\.musl\.node|\.abi[0-9]+\.[^/]*node|\.map|\.[cm]?ts|\.tsbuildinfo|\.[ch]|\.cpp)' -delete \
  && rm -rf node_modules/bintrees/test node_modules/typescript node_modules/@typescript

# Node.js without npm, yarn and headers. Not Alpine: this is the C library that the addon of the store
# is tested with.
FROM debian:bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends libstdc++6 tini=0.19.* \
  && rm -rf /var/lib/apt/lists/* \
  && install -d -o nobody -g nogroup /data /data/out /data/.brandfill /out /store \
  && install -d -o nobody -g nogroup -m 700 /lists
COPY --from=build /usr/local/bin/node /usr/local/bin/node
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY apis ./apis
COPY samples ./samples
# Nobody, as a number, so that Kubernetes sees that it is not root. Of the host it owns nothing:
# --user "$(id -u)" writes to a folder of yours.
USER 65534:65534
WORKDIR /data
# Where the command serves HTTP (--listen, --port) it has to answer; else it is well as long as it runs.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["node", "-e", "const port = /--(?:listen|port)[ =](?:\\S*:)?(\\d+)/.exec(require('fs').readFileSync('/proc/1/cmdline', 'utf8').replaceAll('\\0', ' '))?.[1]; if (port) fetch(`http://127.0.0.1:${port}/livez`).catch(() => process.exit(1))"]
# The first one lets calls under way be finished. Give it 40 s: docker stop --time 40.
STOPSIGNAL SIGTERM
ENTRYPOINT ["tini", "--", "node", "/app/dist/brandfill.js"]
CMD ["--help"]
