/** A message over the channel to whoever started this process: it has done its work and ends with this code. */
export type Exiting = { exitCode: number };

export function isExiting(message: unknown): message is Exiting {
  return typeof message === "object" && message !== null && typeof (message as Exiting).exitCode === "number";
}

/**
 * Ends this process with the code, and tells it to whoever started the process over a channel. Node can hang for good when it
 * ends: its main thread waits for a thread that compiles, which waits for the main thread
 * (https://github.com/nodejs/node/issues/54918). The starter then ends the process.
 */
export function exit(exitCode: number): never {
  // The channel is there only until the starter has gone.
  if (process.connected) process.send?.({ exitCode } satisfies Exiting);
  process.exit(exitCode);
}
