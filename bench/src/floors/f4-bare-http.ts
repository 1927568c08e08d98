import { startChild } from "../harness/child.ts";
import { runHttpLoad, type HttpLoadResult } from "../harness/http-load.ts";
import { PAYLOAD } from "./insert-table.ts";

/** Connections of P1 and F4. */
export const CONNECTIONS = 64;
/** What both are sent. */
export const START_BODY = `{"payload":${PAYLOAD}}`;

/** F4: a bare node:http server on one core, validating the same POST and answering a run; requests a second. */
export async function measureBareHttp(durationMs: number): Promise<HttpLoadResult> {
  const server = startChild(new URL("./f4-bare-http-server.ts", import.meta.url), { core: 0 });
  try {
    const { port } = await server.next<{ port: number }>(10_000);
    const load = {
      port,
      path: "/v1/tasks/noop/start",
      headers: { authorization: `Bearer kl_key_${"x".repeat(38)}` },
      body: START_BODY,
      connections: CONNECTIONS,
    };
    await runHttpLoad({ ...load, durationMs: 1_000 }); // Compiles the hot functions, as a server that has run for a while has.
    return await runHttpLoad({ ...load, durationMs });
  } finally {
    await server.stop();
  }
}
