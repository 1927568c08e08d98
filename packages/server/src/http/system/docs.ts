import { createHash } from "node:crypto";
import { API_VERSION } from "@keelson/contract";
import { fastify } from "fastify";
import { Type } from "typebox";
import { route, type RouteDefinition } from "../edge/route.ts";
import { pageHeaders } from "./page-headers.ts";

/**
 * Off: everything by which the page would ask another origin. The policy of the page refuses it as well. Each operation has
 * samples of its own, so the generated ones of other languages are hidden.
 */
const CONFIGURATION = JSON.stringify({
  url: "/openapi.json",
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  hiddenClients: true,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
});

const START = `Scalar.createApiReference("#reference", ${CONFIGURATION});`;
const START_HASH = `'sha256-${createHash("sha256").update(START).digest("base64")}'`;

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Keelson API reference</title>
    <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
  </head>
  <body>
    <noscript>This page needs JavaScript. The document it shows is <a href="/openapi.json">/openapi.json</a>.</noscript>
    <div id="reference"></div>
    <script src="/docs/scalar.js"></script>
    <script>${START}</script>
  </body>
</html>
`;

/**
 * The page's script, several megabytes, is read when somebody first opens the page. The package gives it only through
 * its plugin, so the plugin is registered on an application that never listens.
 */
let script: Promise<Buffer> | undefined;

async function loadScript(): Promise<Buffer> {
  const { default: reference } = await import("@scalar/fastify-api-reference");
  const app = fastify();
  await app.register(reference, { routePrefix: "/docs", configuration: { url: "/openapi.json" } });
  const { rawPayload } = await app.inject("/docs/js/scalar.js");
  await app.close();
  return rawPayload;
}

/** Its own schema is the OpenAPI specification's. */
const OpenApiDocument = Type.Object(
  { openapi: Type.String(), info: Type.Object({}), paths: Type.Object({}) },
  { description: "An OpenAPI 3.1 document." },
);

export const docsRoutes: RouteDefinition[] = [
  route({
    in: ["system"],
    method: "GET",
    path: "/openapi.json",
    name: "getOpenApi",
    summary: "The OpenAPI document of all families",
    description: "OpenAPI 3.1 with every route, example and refusal. It needs no credential.",
    tag: "Server",
    access: { kind: "public" },
    responses: { 200: { description: "OpenAPI 3.1.", schema: OpenApiDocument } },
    examples: { response: { openapi: "3.1.0", info: { title: "Keelson", version: API_VERSION }, paths: {} } },
    handle: async ({ server }) => ({
      status: 200,
      json: server.openApiJson(),
      headers: { "cache-control": "no-cache" },
    }),
  }),
  route({
    in: ["system"],
    method: "GET",
    path: "/docs",
    name: "getDocs",
    summary: "The API reference as a page",
    description: "Shows the OpenAPI document. Everything it loads is from this server.",
    tag: "Server",
    access: { kind: "public" },
    responses: { 200: { description: "The page.", mediaType: "text/html" } },
    handle: async () => ({
      status: 200,
      bytes: Buffer.from(PAGE),
      contentType: "text/html; charset=utf-8",
      headers: pageHeaders(`'self' ${START_HASH}`),
    }),
  }),
  route({
    in: ["system"],
    method: "GET",
    path: "/docs/scalar.js",
    name: "getDocsScript",
    summary: "The script of the API reference",
    description: "Script of the API reference page. Needs no credential.",
    tag: "Server",
    access: { kind: "public" },
    responses: { 200: { description: "The script.", mediaType: "text/javascript" } },
    handle: async () => ({
      status: 200,
      bytes: await (script ??= loadScript()),
      contentType: "text/javascript; charset=utf-8",
      headers: { "cache-control": "max-age=86400" },
    }),
  }),
];
