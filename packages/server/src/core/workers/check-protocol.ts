import { WORKER_PROTOCOL_VERSION } from "@keelson/contract";
import { DomainError } from "../../domain-error.ts";

/** @throws DomainError `unsupported_worker_protocol` naming what this server speaks. */
export function checkProtocol(version: number): void {
  if (version === WORKER_PROTOCOL_VERSION) return;
  throw new DomainError(
    "unsupported_worker_protocol",
    `This server speaks worker protocol ${WORKER_PROTOCOL_VERSION}, not ${version}. Run a worker of a matching version.`,
    { supported: [WORKER_PROTOCOL_VERSION] },
  );
}
