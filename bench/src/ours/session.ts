import { Agent, request } from "node:http";
import type { Session } from "@keelson/contract";
import type { Keelson } from "./keelson.ts";

/** The output stream that is measured, of a session made for it. */
export async function openStream(keelson: Keelson): Promise<{ appendPath: string; readPath: string }> {
  const session = await keelson.api.call<Session>("POST", "/api/sessions", { task: "noop" });
  const stream = `/api/sessions/${session.id}/outputs/measured`;
  return { appendPath: stream, readPath: `${stream}/read?follow=1` };
}

/** Appends on one kept-alive connection, each as a client does; resolves when it is acknowledged. */
export function createAppender(keelson: Keelson, path: string) {
  const agent = new Agent({ keepAlive: true });
  const headers = { authorization: `Bearer ${keelson.apiKey}`, "content-type": "application/json" };
  const append = (body: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const sent = request({ agent, port: keelson.port, path, method: "POST", headers }, (response) => {
        response.resume();
        response.on("end", () =>
          response.statusCode === 201
            ? resolve()
            : reject(new Error(`an append was answered ${response.statusCode}`)),
        );
      });
      sent.on("error", reject);
      sent.end(body);
    });
  return { append, close: () => agent.destroy() };
}
