import { randomUUID } from "node:crypto";
import type { CommittedWorkspace, CommitWorkspace } from "@keelson/contract";
import { commitFolder, type BlobSink, type StatCache, type Tree } from "@keelson/workspace-tree";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import { ServiceError } from "../protocol/service-error.ts";
import type { WorkerClient } from "../protocol/worker-client.ts";
import type { Random } from "../random.ts";
import { insist } from "./insist.ts";

export type CommitCause = CommitWorkspace["cause"];
type CommitFields = Pick<CommitWorkspace, "materialization_id" | "environment_id" | "epoch">;

export type CommitterOptions = {
  client: WorkerClient;
  fields: CommitFields;
  /** The folder whose files are committed. */
  root: string;
  blobs: BlobSink;
  /** What the folder was written from. */
  base: { versionId: string; manifestDigest: string; tree: Tree; cache: StatCache };
  clock: Clock;
  random: Random;
  logger: Logger;
  signal: AbortSignal;
};

/** A refusal that storing again, or naming the right parent, mends; one that comes so often does not go away. */
const MAX_REPEATS = 5;
const COMMIT_TIMEOUT_MS = 60_000;

/**
 * Makes versions of one workspace's folder, one after the other. Those who ask while a commit is under way share the
 * next one: its look at the files begins after they asked.
 */
export class Committer {
  readonly #options: CommitterOptions;
  #versionId: string;
  #manifestDigest: string;
  #tree: Tree;
  #cache: StatCache;
  #last: Promise<unknown> = Promise.resolve();
  #next: Promise<string> | null = null;
  #failed = false;

  constructor(options: CommitterOptions) {
    this.#options = options;
    const { base } = options;
    this.#versionId = base.versionId;
    this.#manifestDigest = base.manifestDigest;
    this.#tree = base.tree;
    this.#cache = base.cache;
  }

  /** The last version that is known to be current. */
  versionId(): string {
    return this.#versionId;
  }

  /** The last commit did not succeed: the folder has what no version has. */
  failed(): boolean {
    return this.#failed;
  }

  /**
   * Commits what changed, and resolves with the version that has it, which is the last one when nothing did.
   *
   * @throws TreeError for files that cannot be kept; ServiceError when the server refuses.
   */
  commit(cause: CommitCause): Promise<string> {
    this.#next ??= this.#enqueue(() => {
      this.#next = null;
      return this.#commit(cause, null);
    });
    return this.#next;
  }

  /** Commits the result of the setup; also when it changed nothing. */
  commitSetup(setupDigest: string): Promise<string> {
    return this.#enqueue(() => this.#commit({ kind: "create" }, setupDigest));
  }

  #enqueue(work: () => Promise<string>): Promise<string> {
    const turn = this.#last.then(work);
    // The next one's turn comes also after a failure, of which this one's caller is told.
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #commit(cause: CommitCause, setupDigest: string | null): Promise<string> {
    this.#failed = true;
    const lost = new Set<string>();
    for (let repeat = 0; ; repeat += 1) {
      const { changed, tree, manifest, cache, skipped } = await this.#scan(lost);
      if (skipped.length > 0)
        this.#options.logger.info(
          { ...this.#options.fields, skipped: skipped.slice(0, 20), count: skipped.length },
          "pipes, sockets and devices of a workspace are in no version",
        );
      if (changed || setupDigest !== null) {
        const manifestDigest = manifest?.digest ?? this.#manifestDigest;
        const committed = await this.#send({ cause, manifestDigest, setupDigest }).catch((error: unknown) => {
          if (repeat >= MAX_REPEATS || !this.#mend(error, lost)) throw error;
          return null;
        });
        if (committed === null) continue;
        this.#versionId = committed.version.id;
        this.#manifestDigest = manifestDigest;
      }
      this.#tree = tree;
      this.#cache = cache;
      this.#failed = false;
      return this.#versionId;
    }
  }

  #scan(lostBlobs: ReadonlySet<string>) {
    const { root, blobs, clock, signal } = this.#options;
    return commitFolder(root, {
      base: this.#tree,
      cache: this.#cache,
      sink: blobs,
      now: clock.now(),
      lostBlobs,
      signal,
    });
  }

  #send(commit: {
    cause: CommitCause;
    manifestDigest: string;
    setupDigest: string | null;
  }): Promise<CommittedWorkspace> {
    const { client, fields, random, signal } = this.#options;
    const body: CommitWorkspace = {
      ...fields,
      commit_id: randomUUID(),
      parent_version_id: this.#versionId,
      manifest_digest: commit.manifestDigest,
      cause: commit.cause,
      ...(commit.setupDigest === null ? {} : { setup_digest: commit.setupDigest }),
    };
    // The same id in each try: one whose answer was lost is not made twice.
    const text = JSON.stringify(body);
    const call = { timeoutMs: COMMIT_TIMEOUT_MS, signal };
    return insist(() => client.post<CommittedWorkspace>("workspaces/commit", text, call), { random, signal });
  }

  /** True when the commit is worth repeating. */
  #mend(error: unknown, lost: Set<string>): boolean {
    if (!(error instanceof ServiceError) || error.code !== "invalid_state") return false;
    const { missing_blobs: missing, current_version_id: current } = error.details ?? {};
    if (Array.isArray(missing)) {
      for (const digest of missing) lost.add(String(digest));
      return true;
    }
    // An earlier process of this worker committed, and did not live to know it.
    if (typeof current !== "string") return false;
    this.#versionId = current;
    return true;
  }
}
