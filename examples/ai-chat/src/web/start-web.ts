import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { ApiError, Client } from "@keelson/sdk/client";
import { isActorName } from "../actors.ts";
import { bundlePage } from "./bundle-page.ts";
import { connectVisitor, endConversation } from "./chat-route.ts";
import type { Config } from "./config.ts";

const PAGE = join(import.meta.dirname, "../page");
const VISITOR = /(?:^|;\s*)ai_chat_visitor=([0-9a-f]{32})/;
const CHAT = /^(POST|DELETE) \/chat\/([a-z]+)$/;

type Answer = { status: number; type: string; body: string; headers?: Record<string, string> };
type Site = { client: Client; url: string; files: Record<string, Omit<Answer, "status">> };

/** Answers one request of a browser. */
async function answer(request: IncomingMessage, { client, url, files }: Site): Promise<Answer> {
  const asked = `${request.method} ${new URL(request.url ?? "", "http://page").pathname}`;
  const file = files[asked];
  if (file !== undefined) return { status: 200, ...file };
  const [, method, actor = ""] = CHAT.exec(asked) ?? [];
  if (!isActorName(actor)) return { status: 404, type: "text/plain", body: "There is no such page" };
  // Yours has people who signed in. This one knows a browser by a random cookie.
  const visitor = VISITOR.exec(request.headers.cookie ?? "")?.[1] ?? randomBytes(16).toString("hex");
  if (method === "DELETE") await endConversation(client, url, actor, visitor);
  const body = method === "DELETE" ? {} : await connectVisitor(client, url, actor, visitor);
  // Strict: a page of another site cannot ask for tokens in the visitor's name.
  const cookie = `ai_chat_visitor=${visitor}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000`;
  const headers = { "set-cookie": cookie };
  return { status: 200, type: "application/json", body: JSON.stringify(body), headers };
}

async function readFiles(): Promise<Site["files"]> {
  const [html, css, script] = await Promise.all([
    readFile(join(PAGE, "chat.html"), "utf8"),
    readFile(join(PAGE, "chat.css"), "utf8"),
    bundlePage(join(PAGE, "main.tsx")),
  ]);
  return {
    "GET /": { type: "text/html", body: html },
    "GET /chat.css": { type: "text/css", body: css },
    "GET /chat.js": { type: "text/javascript", body: script },
  };
}

const policyFor = (url: string): string =>
  [
    ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src data:"],
    ...[`connect-src 'self' ${url}`, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ].join("; ");

/** The backend of the page. It has the API key, and gives each visitor a token for their own conversations, and for nothing else. */
export async function startWeb({
  url,
  apiKey,
  port,
}: Config): Promise<{ url: string; stop(): Promise<void> }> {
  const site = { client: new Client({ url, apiKey }), url, files: await readFiles() };
  const common = {
    "content-security-policy": policyFor(url),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  const server = createServer((request, response) => {
    answer(request, site)
      .catch((error: unknown): Answer => {
        console.error(error);
        // What Keelson refuses is said to the visitor: in an example it helps to see it.
        const body = error instanceof ApiError ? error.message : "Something went wrong";
        return { status: 502, type: "text/plain", body };
      })
      .then(({ status, type, body, headers }) => {
        const head = { ...common, ...headers, "content-type": `${type}; charset=utf-8` };
        response.writeHead(status, head).end(body);
      }, console.error);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      const closed = new Promise((resolve) => void server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
