import { ServiceError } from "../protocol/service-error.ts";

/** Another worker has the workspace by now, or none is to have it. */
export const isLeaseLost = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === "lease_lost";
