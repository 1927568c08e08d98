import { BOUND_RUN, type BoundOptions } from "../client/access.ts";
import { Client } from "../client/client.ts";
import type { DurableRun } from "./durable/durable-run.ts";

/** A client that acts as that run, and for its code alone. */
export function createRunClient(run: DurableRun): Client {
  if (run.input.client !== undefined) return run.input.client;
  const options: BoundOptions = { [BOUND_RUN]: run };
  return new Client(options);
}
