import type { ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";
import type { RouteMetrics } from "./route-metrics.ts";

type Observed = { route: RouteMetrics; startedAt: number; clock: Clock };

const OBSERVED = Symbol("observed");
type ObservedResponse = ServerResponse & { [OBSERVED]?: Observed };

/** One function for all responses: a closure a request is measurable in the collector's work. */
function onClose(this: ObservedResponse): void {
  const { route, startedAt, clock } = this[OBSERVED] as Observed;
  route.observe(this.statusCode, clock() - startedAt);
}

/** Counts each request when its answer is out; under `unknown` until its route is known. */
export const createObserver =
  (unknown: RouteMetrics, clock: Clock) =>
  (response: ObservedResponse): void => {
    response[OBSERVED] = { route: unknown, startedAt: clock(), clock };
    response.on("close", onClose);
  };

export function observeAs(response: ObservedResponse, route: RouteMetrics): void {
  const observed = response[OBSERVED];
  if (observed !== undefined) observed.route = route;
}
