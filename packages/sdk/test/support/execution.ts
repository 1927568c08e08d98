import type {
  DurableCall,
  ExecuteInput,
  ExecuteResult,
  LeasedSession,
  RuntimeHost,
  WaitState,
} from "@keelson/contract";
import { keelson } from "@keelson/sdk/runtime";
import type { DurableServer } from "./durable-server.ts";

const current = new WeakMap<DurableServer, Execution>();

export type ExecutionOptions = {
  payload?: unknown;
  kind?: "task" | "actor";
  session?: LeasedSession;
  secrets?: Record<string, string>;
  workspace?: { id: string; path: string };
  access?: { url: string; credential: string };
  runId?: string;
  signal?: AbortSignal;
  /** The process dies at the call of this number, 0 for the first: before or after it has had its effect. */
  dieAt?: { call: number; applied: boolean };
  /** How many turns of the event loop each answer takes. Default 1. */
  delayOf?: (call: number) => number;
};

/** One execution of a run by the SDK, in a process that may die. A former one of the same server is cut off. */
export class Execution {
  /** Null when the process has died or was cut off. */
  readonly ended: Promise<ExecuteResult | null>;
  readonly #server: DurableServer;
  readonly #options: ExecutionOptions;
  readonly #died = Promise.withResolvers<null>();
  #listener: (waits: WaitState[]) => void = () => undefined;
  #suspend: () => boolean = () => false;
  #onParked: (() => void)[] = [];
  #calls = 0;
  #dead = false;
  #order: Promise<void> = Promise.resolve();

  constructor(server: DurableServer, declaredId: string, options: ExecutionOptions) {
    this.#server = server;
    this.#options = options;
    current.get(server)?.cut();
    current.set(server, this);
    server.parked = false;
    server.onSettled = (waits) => this.#tell(waits);
    const execution = keelson.execute(this.#input(declaredId));
    this.ended = Promise.race([execution, this.#died.promise]);
  }

  /** Nothing of it reaches the server any more. */
  cut(): void {
    this.#dead = true;
    this.#died.resolve(null);
  }

  /** Asks whether the process can end. */
  suspend(): boolean {
    return this.#suspend();
  }

  /** Resolves when the run is parked, and its process knows it. */
  parked(): Promise<void> {
    return new Promise((resolve) => this.#onParked.push(resolve));
  }

  /** Durable calls so far. */
  get callCount(): number {
    return this.#calls;
  }

  #tell(waits: WaitState[]): void {
    setImmediate(() => (this.#dead ? undefined : this.#listener(waits)));
  }

  #call(call: DurableCall): Promise<unknown> {
    const number = this.#calls;
    this.#calls += 1;
    const sent = JSON.parse(JSON.stringify(call)) as DurableCall;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#order = this.#order.then(async () => {
      for (let turns = this.#options.delayOf?.(number) ?? 1; turns > 0; turns -= 1)
        await new Promise((next) => setImmediate(next));
      const { dieAt } = this.#options;
      if (dieAt?.call === number && !dieAt.applied) this.cut();
      if (this.#dead) return;
      try {
        const result = this.#server.apply(sent);
        if (dieAt?.call === number) return this.cut();
        resolve(structuredClone(result));
        if (this.#server.parked) for (const told of this.#onParked.splice(0)) setImmediate(told);
      } catch (error) {
        reject(error);
      }
    });
    return promise;
  }

  #input(declaredId: string): ExecuteInput {
    const { kind = "task", payload = null, session = null, secrets = {}, workspace, signal } = this.#options;
    const server = this.#server;
    const alive =
      <A extends unknown[]>(act: (...args: A) => void) =>
      (...args: A): void => {
        if (!this.#dead) act(...args);
      };
    const host: RuntimeHost = {
      log: alive((_stream, text: string) => void server.lines.push(text)),
      event: alive((event) => void server.events.push(event)),
      metadata: alive((changes) => void server.changes.push(...changes)),
      call: ((call: DurableCall) => this.#call(call)) as RuntimeHost["call"],
      // What has not ended is never answered here: the execution is cut off before.
      execResult: async (id) => server.ended.get(id) ?? new Promise<never>(() => undefined),
      onSettled: (listener) => (this.#listener = listener),
      onSuspend: (listener) => (this.#suspend = listener),
    };
    return {
      entrypoint: { kind, declaredId },
      run: {
        id: this.#options.runId ?? "run_1",
        project_id: "proj_1",
        environment_id: "env_1",
        task: kind === "task" ? declaredId : null,
        actor: kind === "actor" ? declaredId : null,
        attempt_number: server.attempt,
        max_attempts: 3,
        payload,
        metadata: {},
        tags: ["a"],
        queue: "default",
        created_at: "2026-11-20T09:15:00.123Z",
        deployment_id: "dep_1",
        deployment_version: "20261120.1",
        session_id: session?.id ?? null,
        turn: session === null ? null : 1,
        parent_run_id: null,
        schedule_id: null,
        workspace_id: workspace?.id ?? null,
      },
      workspace: workspace ?? null,
      ...(this.#options.access && { access: this.#options.access }),
      secrets,
      journal: structuredClone(server.journal),
      waits: server.openWaits(),
      session,
      signal: signal ?? new AbortController().signal,
      host,
    };
  }
}
