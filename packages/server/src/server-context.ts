import type { Clock } from "./clock.ts";
import type { NewUuid } from "./uuid.ts";
import type { Wakes } from "./core/feeds/wakes.ts";

/** What every handler and loop is given; made once by the composition root. */
export type ServerContext = {
  clock: Clock;
  newUuid: NewUuid;
  wakes: Wakes;
};
