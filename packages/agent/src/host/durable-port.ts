import type {
  CallRefusal,
  DurableCall,
  ExecResult,
  FileCall,
  RuntimeHost,
  WaitState,
} from "@keelson/contract";
import type { AgentPipe } from "./agent-pipe.ts";
import type { CallAnswer } from "./frames.ts";

/** What a run hears of the agent while it runs. */
export type DurablePort = {
  answer(id: number, answer: CallAnswer): void;
  settled(waits: WaitState[]): void;
  interrupted(messageId: string): void;
  /** True when the run only waited, and so ends now. */
  suspend(): boolean;
  /** The side of the runtime. */
  host: Pick<RuntimeHost, "call" | "execResult" | "file" | "onSettled" | "onInterrupt" | "onSuspend">;
};

function toError({ code, message }: { code: string; message: string }): CallRefusal {
  return Object.assign(new Error(message), { code });
}

/** Carries the durable calls of one run to the agent, and answers back. */
export function openDurablePort(n: number, pipe: AgentPipe): DurablePort {
  const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  let lastId = 0;
  let onSettled: (waits: WaitState[]) => void = () => undefined;
  let onInterrupt: (messageId: string) => void = () => undefined;
  let onSuspend = (): boolean => false;

  const ask = (send: (id: number) => void): Promise<unknown> => {
    lastId += 1;
    const id = lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    send(id);
    waiting.set(id, { resolve, reject });
    return promise;
  };
  const call = (made: DurableCall): Promise<unknown> => ask((id) => pipe.send(["call", n, id, made]));

  return {
    answer(id, answer) {
      const waiter = waiting.get(id);
      waiting.delete(id);
      if ("result" in answer) waiter?.resolve(answer.result);
      else waiter?.reject(toError(answer.refusal));
    },
    settled: (waits) => onSettled(waits),
    interrupted: (messageId) => onInterrupt(messageId),
    suspend: () => onSuspend(),
    host: {
      // What each kind of call answers is the server's word; the agent passes it on unread.
      call: call as RuntimeHost["call"],
      execResult: (execId) => ask((id) => pipe.send(["exec_result", n, id, execId])) as Promise<ExecResult>,
      file: ((asked: FileCall) => ask((id) => pipe.send(["file", n, id, asked]))) as NonNullable<
        RuntimeHost["file"]
      >,
      onSettled(listener) {
        onSettled = listener;
      },
      onInterrupt(listener) {
        onInterrupt = listener;
      },
      onSuspend(listener) {
        onSuspend = listener;
      },
    },
  };
}
