import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { route, type Route } from "../route.ts";
import { pageHeaders } from "./page-headers.ts";

/** The console's files, which belong to another package and are absent where only the server is installed. */
const FOLDER = fileURLToPath(new URL("../../../../console/public", import.meta.url));

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Pages have no extension in their addresses. */
const pathOf = (name: string): string => (name === "index.html" ? "/" : `/${name.replace(/\.html$/, "")}`);

/** Read when the server starts: a few small files, each a route of its own, so that no path of a caller reaches the disk. */
const fileRoute = (name: string): Route => {
  const bytes = readFileSync(path.join(FOLDER, name));
  const contentType = TYPES[path.extname(name)] as string;
  const headers = pageHeaders("'self'");
  return route({
    family: "system",
    method: "GET",
    path: pathOf(name),
    operationId: `getConsole${name.replaceAll(/(?:^|[^a-z]+)([a-z])/g, (_, letter: string) => letter.toUpperCase())}`,
    summary: name === "index.html" ? "The console" : `A file of the console: ${name}`,
    tag: "Server",
    access: { kind: "public" },
    responses: { 200: { description: "The file.", mediaType: contentType.split(";", 1)[0] as string } },
    handle: async () => ({ status: 200, bytes, contentType, headers }),
  });
};

export const consoleRoutes: Route[] = existsSync(FOLDER)
  ? readdirSync(FOLDER)
      .filter((name) => path.extname(name) in TYPES)
      .sort()
      .map(fileRoute)
  : [];
