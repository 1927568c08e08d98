import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { DomainError } from "../../domain-error.ts";
import { pageHeaders } from "./page-headers.ts";

/** What the console's package builds; absent where only the server is installed, or nothing was built. */
const FOLDER = fileURLToPath(new URL("../../../../console/dist", import.meta.url));

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Addresses of the console itself: it is one page, which shows what its address says. No API is below them. */
const PAGES = [
  "/",
  "/login",
  "/device",
  "/invitation",
  "/oauth/authorize",
  "/connected-clients",
  "/e/*",
  "/organizations/*",
  "/system",
  "/system/*",
] as const;

/** A file's name holds the digest of its content, so it never changes. */
const FOREVER = "public, max-age=31536000, immutable";

type Asset = { bytes: Buffer; type: string; zipped?: Promise<Buffer> };

const compress = promisify(gzip);

/** Read once: the folder's files by their names, so that no path of a caller reaches the disk. */
function readAssets(folder: string): Map<string, Asset> {
  const names = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
  return new Map(
    names
      .filter((entry) => entry.isFile() && path.extname(entry.name) in TYPES)
      .map(({ name }) => [
        name,
        { bytes: readFileSync(path.join(folder, name)), type: TYPES[path.extname(name)] as string },
      ]),
  );
}

/** Compressed when it is first asked for, once. */
async function answer(request: FastifyRequest, reply: FastifyReply, asset: Asset): Promise<Buffer> {
  reply.type(asset.type).header("vary", "accept-encoding");
  if (!/\bgzip\b/.test(String(request.headers["accept-encoding"]))) return asset.bytes;
  asset.zipped ??= compress(asset.bytes, { level: constants.Z_BEST_COMPRESSION });
  reply.header("content-encoding", "gzip");
  return asset.zipped;
}

/**
 * The console's pages and files. They are no part of the API, so they are not among its routes: what the pages do, they do
 * by the routes that everyone has.
 */
export function addConsole(app: FastifyInstance, folder: string = FOLDER): void {
  const roots = readAssets(folder);
  const assets = readAssets(path.join(folder, "assets"));
  const headers = pageHeaders("'self'");
  const page = roots.get("index.html");
  const icon = roots.get("favicon.svg");
  for (const url of PAGES)
    app.get(url, (request, reply) => {
      if (page === undefined) throw notBuilt();
      return answer(request, reply.headers(headers), page);
    });
  app.get("/favicon.svg", (request, reply) => {
    if (icon === undefined) throw notBuilt();
    return answer(request, reply.header("cache-control", "public, max-age=86400"), icon);
  });
  app.get<{ Params: { name: string } }>("/assets/:name", (request, reply) => {
    const asset = assets.get(request.params.name);
    if (asset === undefined)
      throw new DomainError("route_not_found", "The console does not have this file. Reload the page.");
    return answer(request, reply.header("cache-control", FOREVER), asset);
  });
}

const notBuilt = (): DomainError =>
  new DomainError(
    "route_not_found",
    "The console is not built here. `npm start` builds it; the API is described at /docs.",
  );
