import type { SessionFile } from "./client/resources.ts";
import type { LocateRun } from "./current-run.ts";
import { createRunClient } from "./runtime/run-client.ts";

/** A file of the session, and its content. It never changes: a replay reads the same. */
export type RunSessionFile = SessionFile & {
  /** All of the content in memory. */
  bytes(): Promise<Uint8Array>;
  /** The content as it comes. The stream fails when the connection is lost. */
  stream(): Promise<ReadableStream<Uint8Array>>;
};

/** Opens a file with the run's own credential. */
export async function openRunFile(
  locate: LocateRun,
  sessionId: string,
  fileId: string,
): Promise<RunSessionFile> {
  const { files } = createRunClient(locate("session.file()").run).sessions;
  const file = await files.get(sessionId, fileId);
  return {
    ...file,
    bytes: () => files.read(sessionId, fileId),
    stream: () => files.stream(sessionId, fileId),
  };
}
