// Between an agent and its server: does something, once, right before a call reaches the server or right after its answer.

import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export type Step = { calls: RegExp; at: "before" | "after" };

export type StepProxy = {
  readonly url: string;
  /** Every call that came, without its query. */
  readonly calls: string[];
  /** Resolves when the next such call has come and `act` is done. A call whose caller is gone by then is not passed on. */
  once(step: Step, act: () => Promise<void>): Promise<void>;
  stop(): Promise<void>;
};

export async function startStepProxy(target: () => string): Promise<StepProxy> {
  const calls: string[] = [];
  let armed: { step: Step; act: () => Promise<void>; done: () => void } | null = null;
  const reach = async (call: string, at: Step["at"]): Promise<void> => {
    if (armed === null || armed.step.at !== at || !armed.step.calls.test(call)) return;
    const { act, done } = armed;
    armed = null;
    await act();
    done();
  };
  const pass = async (incoming: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const call = `${incoming.method} ${incoming.url}`;
    calls.push(call.replace(/\?.*/, ""));
    const body = await buffer(incoming);
    await reach(call, "before");
    if (incoming.socket.destroyed) return;
    const outgoing = request(`${target()}${incoming.url}`, {
      method: incoming.method ?? "GET",
      headers: incoming.headers,
      agent: false,
    });
    const abort = (): void => void outgoing.destroy();
    answer.on("close", abort);
    outgoing.end(body);
    const reply = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on("response", resolve);
      outgoing.on("error", reject);
    });
    const bytes = await buffer(reply);
    answer.off("close", abort);
    await reach(call, "after");
    const { "transfer-encoding": _, ...headers } = reply.headers;
    answer.writeHead(reply.statusCode ?? 500, { ...headers, "content-length": bytes.length });
    answer.end(bytes);
  };
  const server = createServer((incoming, answer) => {
    pass(incoming, answer).catch(() => answer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    once: (step, act) => new Promise((done) => (armed = { step, act, done })),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
