// Event streams that a test holds open until the server ends them.

import assert from "node:assert/strict";
import type { ApiServer } from "../../support/api-server.ts";

/** A stream that is open under the credential, and when and how it ends. */
export async function follow(
  server: ApiServer,
  as: string,
  path: string,
): Promise<{ ended: Promise<{ at: number; text: string }>; isOpen(): boolean; close(): void }> {
  const hangUp = new AbortController();
  const headers = { authorization: `Bearer ${as}` };
  const response = await fetch(server.url + path, { headers, signal: hangUp.signal });
  assert.equal(response.status, 200, path);
  let isOpen = true;
  let text = "";
  const begun = Promise.withResolvers<void>();
  const read = async (): Promise<{ at: number; text: string }> => {
    const decoder = new TextDecoder();
    try {
      for await (const bytes of response.body as AsyncIterable<Uint8Array>) {
        text += decoder.decode(bytes, { stream: true });
        begun.resolve();
      }
    } catch (error) {
      if (!hangUp.signal.aborted) throw error;
    }
    isOpen = false;
    return { at: performance.now(), text };
  };
  const ended = read();
  await begun.promise;
  return { ended, isOpen: () => isOpen, close: () => hangUp.abort() };
}

/** The error that a stream ended with; null when it has none. */
export const errorIn = (text: string): { code: string; message: string } | null =>
  JSON.parse(/event: error\ndata: (.*)\n\n$/.exec(text)?.[1] ?? "null");
