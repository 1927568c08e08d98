import { BUNDLE_FORMAT_VERSIONS } from "@keelson/contract";

/** Why this worker cannot run a bundle, and what helps. */
export const unknownFormat = (format: number): string =>
  `The bundle has format version ${format}; this worker runs versions ${BUNDLE_FORMAT_VERSIONS.join(" and ")}. Update the worker.`;
