import type { RequestOptions } from "./exchange.ts";
import type { Usage } from "./resources.ts";
import type { Transport } from "./transport.ts";
import { usageShape } from "./wire-shapes.ts";

/** What the calls of models of a run or session used. */
export const readUsage = (
  transport: Transport,
  owner: { path: string },
  options: RequestOptions,
): Promise<Usage> => transport.ask(usageShape, { method: "GET", ...owner, ...options });
