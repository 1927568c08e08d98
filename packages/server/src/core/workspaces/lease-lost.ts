import { DomainError } from "../../domain-error.ts";

/** What a worker says of a materialization or of its processes comes too late. */
export const leaseLost = (): DomainError =>
  new DomainError(
    "lease_lost",
    "The materialization has another owner now, or none. End its processes, drop its folder and commit nothing.",
  );
