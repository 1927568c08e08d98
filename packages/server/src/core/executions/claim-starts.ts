import type { Uuid } from "@keelson/contract";
import { FIRST_UUID } from "../../uuid.ts";

/**
 * Where claims begin to look, on this replica: after the environment that got the last run. A claim can be too small for all
 * environments with ready runs; the next claim then begins with the others.
 */
export type ClaimStarts = {
  of(place: string): Uuid<"env">;
  moveTo(place: string, environmentId: Uuid<"env">): void;
};

export function createClaimStarts(): ClaimStarts {
  // By kind of claim and worker group.
  const starts = new Map<string, Uuid<"env">>();
  return {
    of: (place) => starts.get(place) ?? FIRST_UUID,
    moveTo: (place, environmentId) => void starts.set(place, environmentId),
  };
}
