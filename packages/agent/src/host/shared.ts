import { AsyncLocalStorage } from "node:async_hooks";
import type { BundleModule, LogStream } from "@keelson/contract";
import type { AgentPipe } from "./agent-pipe.ts";
import { runAttempt, type GivenAttempt } from "./run-attempt.ts";

type Written = string | Uint8Array;

/**
 * Runs many attempts at once in this process. What a run writes to `process.stdout` and `process.stderr`, the console
 * included, is attributed to it by its asynchronous context; what nothing can be attributed to stays in the pipes,
 * which the agent copies to its own log.
 */
export function createSharedRunner(bundle: BundleModule, pipe: AgentPipe) {
  const running = new AsyncLocalStorage<number>();

  const attribute = (name: LogStream) => {
    const stream = process[name];
    const original = stream.write.bind(stream) as (...args: unknown[]) => boolean;
    stream.write = (chunk: Written, ...rest: unknown[]): boolean => {
      const n = running.getStore();
      if (n === undefined) return original(chunk, ...rest);
      const encoding = typeof rest[0] === "string" ? (rest[0] as BufferEncoding) : "utf8";
      if (typeof chunk === "string" && (encoding === "utf8" || encoding === "utf-8"))
        pipe.send(["text", n, name, chunk]);
      else
        pipe.send([
          "bytes",
          n,
          name,
          (typeof chunk === "string" ? Buffer.from(chunk, encoding) : Buffer.from(chunk)).toString("base64"),
        ]);
      const done = rest.at(-1);
      if (typeof done === "function") process.nextTick(done);
      return true;
    };
  };
  attribute("stdout");
  attribute("stderr");

  return async (given: GivenAttempt): Promise<void> => {
    const { n } = given;
    const log = (stream: LogStream, text: string) => pipe.send(["text", n, stream, text]);
    const result = await running.run(n, () => runAttempt(bundle, { ...given, log }, pipe));
    pipe.send(["end", n, result, false]);
  };
}
