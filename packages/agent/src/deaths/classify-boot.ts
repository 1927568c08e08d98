import { HostBootError } from "../task-hosts/host-run.ts";
import { blameFor, classifyHost, describeDeath, InfrastructureError, type DeathFailure } from "./death.ts";

/** Why a bundle did not come up: the bundle's own fault, or nothing that says anything of it. */
export type BootOutcome =
  | { blame: "user_code"; failure: DeathFailure }
  | { blame: "infrastructure"; message: string };

const bundleError = (message: string, stack: string | null): BootOutcome => ({
  blame: "user_code",
  failure: { kind: "bundle_error", message, stack, retryable: false },
});

/** Of a run's process, and of a deployment's check alike. */
export function classifyBoot(error: unknown, memoryMb: number | null): BootOutcome {
  if (!(error instanceof HostBootError) || (error.thrown === null && error.death === null)) {
    if (error instanceof InfrastructureError) return { blame: "infrastructure", message: error.message };
    const reason = error instanceof Error ? error.message : String(error);
    return { blame: "infrastructure", message: `The worker could not start a process: ${reason}.` };
  }
  const { thrown, death } = error;
  if (thrown !== null)
    return bundleError(`The bundle could not be imported: ${thrown.message}`, thrown.stack);
  if (death === null) throw new Error("A boot failed without a reason.");
  const classified = classifyHost(death);
  const failure = describeDeath(death, memoryMb);
  if (blameFor(classified) === "infrastructure") return { blame: "infrastructure", message: failure.message };
  if (classified === "import_too_long") return bundleError(failure.message, null);
  // More memory, or less load beside it, may help another attempt.
  if (failure.kind === "out_of_memory") return { blame: "user_code", failure };
  return bundleError(`The process ended while it imported the bundle. ${failure.message}`, failure.stack);
}
