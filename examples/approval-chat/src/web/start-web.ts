import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { Client, ApiError } from "@keelson/sdk";
import { bundlePage } from "./bundle-page.ts";
import type { Config } from "./config.ts";
import { createConversations, type Conversations } from "./conversations.ts";

const PAGE = join(import.meta.dirname, "../page");
const VISITOR = /(?:^|;\s*)chat_visitor=([0-9a-f]{32})/;

type Answer = { status: number; type: string; body: string; headers?: Record<string, string> };
type Page = { html: string; script: string };

/** Answers one request of a browser. */
async function answer(
  request: IncomingMessage,
  page: Page,
  conversations: Conversations,
  url: string,
): Promise<Answer> {
  const known = VISITOR.exec(request.headers.cookie ?? "")?.[1];
  switch (`${request.method} ${request.url}`) {
    case "GET /":
      return { status: 200, type: "text/html", body: page.html };
    case "GET /chat.js":
      return { status: 200, type: "text/javascript", body: page.script };
    case "POST /conversation": {
      const visitor = known ?? randomBytes(16).toString("hex");
      const body = JSON.stringify({ url, session_id: await conversations.open(visitor) });
      // Strict: a page of another site cannot ask for tokens in the visitor's name.
      const cookie = `chat_visitor=${visitor}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000`;
      return { status: 200, type: "application/json", body, headers: { "set-cookie": cookie } };
    }
    case "POST /token":
    case "POST /end": {
      const { session_id: id } = (await json(request)) as { session_id: string };
      if (known === undefined || !(await conversations.belongsTo(id, known)))
        return { status: 403, type: "text/plain", body: "This is the conversation of another visitor" };
      if (request.url === "/token")
        return { status: 200, type: "text/plain", body: await conversations.createToken(id) };
      await conversations.end(id);
      return { status: 200, type: "text/plain", body: "" };
    }
    default:
      return { status: 404, type: "text/plain", body: "There is no such page" };
  }
}

/**
 * The backend of the page: serves it, and gives each visitor a conversation and a public access token for it, and for
 * nothing else. It has the API key, so it must know whom it talks to: yours has people who signed in, this one knows a
 * browser by a random cookie.
 */
export async function startWeb({
  url,
  apiKey,
  port,
}: Config): Promise<{ url: string; stop(): Promise<void> }> {
  const conversations = createConversations(new Client({ url, apiKey }));
  const [html, script] = await Promise.all([
    readFile(join(PAGE, "chat.html"), "utf8"),
    bundlePage(join(PAGE, "chat.ts")),
  ]);
  const policy = [
    ...["default-src 'none'", "script-src 'self'", "style-src 'unsafe-inline'", "img-src data:"],
    ...[`connect-src 'self' ${url}`, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ].join("; ");
  const headers = {
    "content-security-policy": policy,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };

  const server = createServer((request, response) => {
    answer(request, { html, script }, conversations, url)
      .catch((error: unknown): Answer => {
        console.error(error);
        // What Keelson refuses is said to the visitor: in an example it helps to see it.
        const body = error instanceof ApiError ? error.message : "Something went wrong";
        return { status: 502, type: "text/plain", body };
      })
      .then(({ status, type, body, headers: own }) => {
        response
          .writeHead(status, { ...headers, ...own, "content-type": `${type}; charset=utf-8` })
          .end(body);
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
