import type { DurableCall } from "@keelson/contract";
import { parseDuration } from "@keelson/contract/plain";
import { UsageError } from "../keelson-error.ts";
import { toJsonValue } from "../runtime/output.ts";
import type { Harness } from "./harness.ts";
import { newId } from "./new-id.ts";

const DEFAULT_TIMEOUT_MS = 24 * 3_600_000;
const MAX_TIMEOUT_MS = 30 * DEFAULT_TIMEOUT_MS;
const MAX_DATA_BYTES = 512 * 1024;

/** A token that a run has created, for the test to complete. */
export type TestToken = {
  /** The id of the token. */
  readonly id: string;
  /** The metadata that the code gave it. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The tags that the code gave it. */
  readonly tags: readonly string[];
  /** When the token expires. */
  readonly timeoutAt: Date;
  /** `pending` until the token is completed, cancelled or expired. */
  readonly status: "pending" | "completed" | "cancelled" | "expired";
  /** Completes the token with JSON, null by default. Throws a UsageError when the token is no longer pending. */
  complete(data?: unknown): void;
  /** Cancels the token: its wait rejects with `TokenCancelledError`. Throws a UsageError when the token is no longer pending. */
  cancel(): void;
};

export type KeptToken = {
  id: string;
  metadata: Record<string, unknown>;
  tags: string[];
  timeoutAt: number;
  status: TestToken["status"];
  data: unknown;
  forgetTimeout(): void;
};

type TokensCall = Extract<DurableCall, { kind: "tokens" }>;

/** Tokens of all runs of one test. */
export class TestTokens {
  readonly #harness: Harness;
  readonly #byId = new Map<string, KeptToken>();
  /** Those that the test has not been given. */
  readonly #untold: KeptToken[] = [];
  #over: UsageError | null = null;
  readonly #asking: { resolve(token: TestToken): void; reject(error: Error): void }[] = [];

  constructor(harness: Harness) {
    this.#harness = harness;
  }

  find(id: string | undefined): KeptToken | undefined {
    return this.#byId.get(id ?? "");
  }

  /** Null when the timeout is too short or too long. */
  create({ timeout, metadata = {}, tags = [] }: TokensCall): KeptToken | null {
    const ms = timeout === undefined ? DEFAULT_TIMEOUT_MS : parseDuration(timeout);
    if (ms === null || ms === 0 || ms > MAX_TIMEOUT_MS) return null;
    const { clock } = this.#harness;
    const token: KeptToken = {
      ...{ id: newId("tok"), metadata, tags: [...tags], timeoutAt: clock.now + ms },
      ...{ status: "pending", data: null },
      forgetTimeout: clock.at(clock.now + ms, () => this.#settle(token, "expired")),
    };
    this.#byId.set(token.id, token);
    const asking = this.#asking.shift();
    if (asking === undefined) this.#untold.push(token);
    else asking.resolve(this.#forTest(token));
    return token;
  }

  /** The next token that the test has not been given, in the order of their creation. */
  next(): Promise<TestToken> {
    for (let token = this.#untold.shift(); token !== undefined; token = this.#untold.shift())
      if (token.status === "pending") return Promise.resolve(this.#forTest(token));
    if (this.#over !== null) return Promise.reject(this.#over);
    return new Promise((resolve, reject) => this.#asking.push({ resolve, reject }));
  }

  /** No run will create one. */
  giveUp(reason: string): void {
    this.#over = new UsageError(`${reason}, and created no other token.`);
    for (const { reject } of this.#asking.splice(0)) reject(this.#over);
  }

  #settle(token: KeptToken, status: KeptToken["status"], data: unknown = null): void {
    token.forgetTimeout();
    token.status = status;
    token.data = data;
    this.#harness.settleWaits(({ tokenId }) => tokenId === token.id, { status, data });
  }

  #forTest(token: KeptToken): TestToken {
    const check = (verb: string): void => {
      if (token.status !== "pending")
        throw new UsageError(
          `The token ${token.id} is ${token.status}; only a pending token can be ${verb}.`,
        );
    };
    return {
      ...{ id: token.id, metadata: token.metadata, tags: token.tags, timeoutAt: new Date(token.timeoutAt) },
      get status() {
        return token.status;
      },
      complete: (data) => {
        check("completed");
        this.#settle(token, "completed", toJsonValue(data, "The data of the token", MAX_DATA_BYTES));
      },
      cancel: () => {
        check("cancelled");
        this.#settle(token, "cancelled");
      },
    };
  }
}
