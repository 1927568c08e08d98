import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Client, ApiError } from "@keelson/sdk";
import { openSession } from "@keelson/sdk/server";
import { ACTOR_ID } from "../chat-records.ts";
import { bundlePage } from "./bundle-page.ts";
import type { Config } from "./config.ts";

const PAGE = join(import.meta.dirname, "../page");
const VISITOR = /(?:^|;\s*)chat_visitor=([0-9a-f]{32})/;

type Answer = { status: number; type: string; body: string; headers?: Record<string, string> };
type Page = { html: string; script: string };

/** Answers one request of a browser. A visitor's cookie says which conversation is theirs. */
async function answer(request: IncomingMessage, page: Page, client: Client, url: string): Promise<Answer> {
  const known = VISITOR.exec(request.headers.cookie ?? "")?.[1];
  switch (`${request.method} ${request.url}`) {
    case "GET /":
      return { status: 200, type: "text/html", body: page.html };
    case "GET /chat.js":
      return { status: 200, type: "text/javascript", body: page.script };
    case "POST /conversation": {
      const visitor = known ?? randomBytes(16).toString("hex");
      const body = JSON.stringify(await openSession(client, { url, ...conversationOf(visitor) }));
      // Strict: a page of another site cannot ask for tokens in the visitor's name.
      const cookie = `chat_visitor=${visitor}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000`;
      return { status: 200, type: "application/json", body, headers: { "set-cookie": cookie } };
    }
    case "POST /end": {
      if (known !== undefined)
        await client.sessions.cancel((await client.sessions.create(conversationOf(known))).id);
      return { status: 200, type: "text/plain", body: "" };
    }
    default:
      return { status: 404, type: "text/plain", body: "There is no such page" };
  }
}

/** With the external id of an open session it is that session. */
const conversationOf = (visitor: string) => ({ actor: ACTOR_ID, externalId: `chat-${visitor}` });

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
  const client = new Client({ url, apiKey });
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
    answer(request, { html, script }, client, url)
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
