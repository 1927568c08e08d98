import { refusalOf } from "./read-events.ts";
import type { CallOptions } from "./exchange.ts";
import type { Transport } from "./transport.ts";

/**
 * The lines of an answer as they come, without their ends. Throws what the server refuses with. A reader who leaves hangs
 * up.
 */
export async function* readLines(
  transport: Transport,
  path: string,
  { signal: outer }: Pick<CallOptions, "signal">,
): AsyncGenerator<string> {
  const controller = new AbortController();
  const signal = outer === undefined ? controller.signal : AbortSignal.any([outer, controller.signal]);
  const { fetch } = transport;
  try {
    const { url, headers } = await transport.reach();
    const response = await fetch(url + path, { headers, signal });
    if (!response.ok || response.body === null) throw await refusalOf(response, transport.config.wireObjects);
    const decoder = new TextDecoder();
    const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
    if (rest !== "") yield rest;
  } finally {
    controller.abort();
  }
}
