import type {
  DurableCall,
  DurableError,
  EffectResult,
  ExecResult,
  JournalEntry,
  JournalKind,
  NewWait,
  StreamRecord,
  WaitState,
} from "@keelson/contract";

/**
 * What the server keeps of one run and does with its durable calls, in memory: journal, waits, tokens, streams and
 * children. It refuses what the server would. One execution of the run after another finds what the last has left.
 */
export class DurableServer {
  readonly journal: JournalEntry[] = [];
  readonly waits = new Map<number, WaitState & { accepted: boolean; fields: NewWait }>();
  readonly outputs: { stream: string; data: unknown; position: number | null }[] = [];
  readonly inputs: { to: string; data: unknown }[] = [];
  readonly inputRecords: StreamRecord[] = [];
  readonly tokens = new Map<string, { status: string; data: unknown }>();
  readonly children = new Map<string, { task: string; payload: unknown }>();
  /** How each command ended; one that is not there is still running. */
  readonly ended = new Map<string, ExecResult>();
  readonly commands: (readonly string[])[] = [];
  readonly applied: DurableCall[] = [];
  readonly events: { kind: string; message: string }[] = [];
  readonly changes: unknown[] = [];
  readonly lines: string[] = [];
  parked = false;
  closed = false;
  /** Null: no limit. */
  journalLimit: number | null = null;
  attempt = 1;
  #received = new Map<string, number>();
  /** Hears of waits that have settled. */
  onSettled: (waits: WaitState[]) => void = () => undefined;

  pendingWaits(): WaitState[] {
    return [...this.waits.values()].filter(({ status }) => status === "pending");
  }

  openWaits(): WaitState[] {
    return [...this.waits.values()].filter(({ accepted }) => !accepted).map((wait) => toState(wait));
  }

  /** Settles a pending wait; the run goes on. */
  settle(position: number, status: "resolved" | "timed_out" | "cancelled", value: unknown = null): void {
    const wait = this.waits.get(position);
    if (wait?.status !== "pending") throw new Error(`no pending wait at ${position}`);
    wait.status = status;
    wait.value = value;
    this.parked = false;
    this.onSettled([toState(wait)]);
  }

  completeToken(id: string, data: unknown, status = "completed"): void {
    this.tokens.set(id, { status, data });
    for (const wait of this.pendingWaits())
      if (wait.name === id) this.settle(wait.position, "resolved", { status, data });
  }

  /** Appends to an input stream, and gives the record to the run when it waits for it. */
  send(data: unknown, stream = "input"): void {
    const sequence = this.inputRecords.filter((record) => record.stream === stream).length + 1;
    this.inputRecords.push({
      id: `rec_${stream}${sequence}`,
      session_id: "sess_1",
      stream,
      sequence,
      data,
      content_type: null,
      correlation_id: null,
      source: { kind: "api", id: null },
      run_id: null,
      attempt_number: null,
      created_at: "2026-11-20T09:15:00.123Z",
    });
    const wait = this.pendingWaits().find((pending) => pending.kind === "input" && pending.name === stream);
    if (wait !== undefined) this.settle(wait.position, "resolved", this.#nextRecord(stream));
  }

  /** The session takes no more input. */
  close(): void {
    this.closed = true;
    for (const wait of this.pendingWaits())
      if (wait.kind === "input") this.settle(wait.position, "resolved", null);
  }

  /** Carries a call out, or throws a refusal. */
  apply(call: DurableCall): unknown {
    if (this.parked && call.kind !== "waits") throw refusal("invalid_state", `${call.kind} of a parked run`);
    this.applied.push(call);
    switch (call.kind) {
      case "steps":
        for (const entry of call.entries) this.#enter(entry);
        return null;
      case "waits":
        return this.#applyWaits(call.waits, call.parked);
      case "tokens": {
        const id = `tok_${call.position}`;
        this.tokens.set(id, { status: "pending", data: null });
        const value = { id, public_access_token: `pub_${id}`, callback_url: `http://keelson/${id}` };
        return this.#effect(call, "token", "token", value);
      }
      case "child-runs": {
        const id = `run_${call.position}`;
        this.children.set(id, { task: call.task, payload: call.payload });
        return this.#effect(call, "child_run", call.task, { id });
      }
      case "outputs": {
        if (this.closed) {
          const error: DurableError = {
            name: "Error",
            message: "closed",
            stack: null,
            code: "session_closed",
          };
          return this.#effect(call, "output", call.stream, null, error);
        }
        for (const { data } of call.records)
          this.outputs.push({ stream: call.stream, data, position: call.position });
        return this.#effect(call, "output", call.stream, null);
      }
      case "inputs":
        this.inputs.push({ to: call.session_id ?? `external ${call.external_id}`, data: call.data });
        return this.#effect(call, "input", call.stream, null);
      case "execs":
        this.commands.push(call.command);
        return this.#effect(call, "exec", call.name, { id: `exec_${call.position}` });
    }
  }

  #applyWaits(waits: readonly NewWait[], parked: boolean): { parked: boolean; waits: WaitState[] } {
    for (const fields of waits) {
      const { position, name, kind } = fields;
      if (this.waits.has(position)) throw refusal("invalid_state", `a second wait at ${position}`);
      const wait = {
        id: `wait_${position}`,
        position,
        place: fields.place ?? null,
        kind,
        name,
        status: "pending" as WaitState["status"],
        timeout_at: null,
        value: null as unknown,
        accepted: false,
        fields,
      };
      this.waits.set(position, wait);
      const token = kind === "token" ? this.tokens.get(fields.token_id ?? "") : undefined;
      const record = kind === "input" ? this.#nextRecord(name) : undefined;
      if (token !== undefined && token.status !== "pending")
        Object.assign(wait, { status: "resolved", value: token });
      if (record !== undefined) Object.assign(wait, { status: "resolved", value: record });
      else if (kind === "input" && this.closed) wait.status = "resolved";
    }
    const settled = this.openWaits().filter(({ status }) => status !== "pending");
    this.parked = parked && settled.length === 0;
    return { parked: this.parked, waits: settled };
  }

  #nextRecord(stream: string): StreamRecord | undefined {
    const received = this.#received.get(stream) ?? 0;
    const record = this.inputRecords.filter((one) => one.stream === stream)[received];
    if (record !== undefined) this.#received.set(stream, received + 1);
    return record;
  }

  #effect(
    { position, place }: { position: number | null; place?: number | undefined },
    kind: JournalKind,
    name: string,
    value: unknown,
    error: DurableError | null = null,
  ): EffectResult {
    if (position !== null) this.#enter({ position, place: place ?? null, kind, name, value, error });
    return { value, error };
  }

  #enter(entry: {
    position: number;
    place?: number | null;
    kind: JournalKind;
    name: string;
    value?: unknown;
    error?: DurableError | null;
  }): void {
    const { position, place = null, kind, name, error = null } = entry;
    if (this.journal.some((one) => one.position === position))
      throw refusal("invalid_state", `a second entry at ${position}`);
    if (this.journalLimit !== null && this.journal.length >= this.journalLimit)
      throw refusal("payload_too_large", `The journal has ${this.journalLimit} entries`);
    let value = entry.value ?? null;
    if (kind === "wait") {
      const wait = this.waits.get(position);
      if (wait === undefined || wait.status === "pending" || wait.accepted)
        throw refusal("invalid_state", `no settled wait at ${position}`);
      wait.accepted = true;
      value = toState(wait);
    }
    this.journal.push(
      structuredClone({ position, place, kind, name, value, error, attempt_number: this.attempt }),
    );
  }
}

const toState = ({ id, position, place, kind, name, status, timeout_at, value }: WaitState): WaitState =>
  structuredClone({ id, position, place: place ?? null, kind, name, status, timeout_at, value });

const refusal = (code: string, message: string): Error & { code: string } =>
  Object.assign(new Error(message), { code });
