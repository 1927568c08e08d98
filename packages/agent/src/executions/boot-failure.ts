import { describeDeath } from "../task-hosts/describe-death.ts";
import { HostBootError } from "../task-hosts/host-run.ts";
import { failed, REJECTED, type Release } from "./decide-release.ts";

/** What an execution ends with when its process did not come up. */
export function bootFailure(error: unknown, memoryMb: number | null): Release {
  if (!(error instanceof HostBootError)) return REJECTED;
  if (error.thrown !== null)
    return failed(
      "bundle_error",
      `The bundle could not be imported: ${error.thrown.message}`,
      error.thrown.stack,
      false,
    );
  if (error.death === null || error.death.killCause === "stopped") return REJECTED;
  if (error.death.killCause === "boot_timeout")
    return failed(
      "bundle_error",
      "The bundle was not imported within 30 s; something at its top level does not end.",
      null,
      false,
    );
  const death = describeDeath(error.death, memoryMb);
  if (death.kind === "out_of_memory" || error.death.spawnError !== null)
    return failed(death.kind, death.message, death.stack, true);
  return failed(
    "bundle_error",
    `The process ended while it imported the bundle. ${death.message}`,
    death.stack,
    false,
  );
}
