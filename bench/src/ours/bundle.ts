import { createHash } from "node:crypto";
import type { CreateDeployment } from "@keelson/contract";
import { WORKER_PROTOCOL_VERSION } from "@keelson/contract";

/**
 * The deployment that is measured, written by hand as bundle format 1 so that a figure is the engine's and not the
 * SDK's runtime on top. `noop` does nothing; `tell-time` gives the machine's clock as its output; the other two print.
 */
const MANIFEST: CreateDeployment["manifest"] = {
  tasks: [
    { id: "noop", execution: "shared" },
    { id: "tell-time", execution: "shared" },
    { id: "print-lines", execution: "exclusive" },
    { id: "print-slowly", execution: "exclusive" },
  ],
};

const SOURCE = `
const now = () => process.hrtime.bigint().toString();
const write = (text) => new Promise((resolve) => { process.stdout.write(text, () => resolve()); });

const tasks = {
  noop: async () => null,
  "tell-time": async () => JSON.stringify({ runningAtNs: now() }),
  "print-lines": async ({ lines }) => {
    const startedAtNs = now();
    for (let i = 0; i < lines; i += 1) {
      const isWritten = process.stdout.write("line " + String(i).padStart(8, "0") + " of a log that somebody will want to read later\\n");
      if (!isWritten) await new Promise((resolve) => process.stdout.once("drain", resolve));
    }
    return JSON.stringify({ startedAtNs, printedAtNs: now() });
  },
  "print-slowly": async ({ lines, intervalMs }) => {
    for (let i = 0; i < lines; i += 1) {
      await write("at " + now() + "\\n");
      await new Promise((resolve) => setTimeout(resolve, intervalMs));
    }
    return null;
  },
};

export const keelson = {
  formatVersion: 1,
  sdkVersion: "0.1.0",
  manifest: () => (${JSON.stringify(MANIFEST)}),
  execute: async ({ entrypoint, run }) => {
    try {
      return { outcome: "succeeded", output: await tasks[entrypoint.declaredId](run.payload) };
    } catch (error) {
      return { outcome: "failed", failure: { kind: "application_error", message: String(error), stack: error?.stack ?? null, retryable: false } };
    }
  },
};
`;

export const BUNDLE = Buffer.from(SOURCE);
export const BUNDLE_DIGEST = createHash("sha256").update(BUNDLE).digest("hex");
/** Bytes of one line of `print-lines`. */
export const LINE_BYTES = Buffer.byteLength("line 00000000 of a log that somebody will want to read later\n");

export const DEPLOYMENT: CreateDeployment = {
  manifest: MANIFEST,
  bundle_digest: BUNDLE_DIGEST,
  bundle_format_version: 1,
  worker_protocol_version: WORKER_PROTOCOL_VERSION,
};
