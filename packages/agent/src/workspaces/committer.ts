import { randomUUID } from "node:crypto";
import { LIMITS, type CommittedWorkspace, type CommitWorkspace } from "@keelson/contract";
import {
  commitFolder,
  type BlobSink,
  type CommittedFolder,
  type LeftOut,
  type StatCache,
  type Tree,
} from "@keelson/workspace-tree";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import { ServiceError } from "../protocol/service-error.ts";
import type { WorkerClient } from "../protocol/worker-client.ts";
import type { Random } from "../random.ts";
import { insist } from "./insist.ts";

export type CommitCause = CommitWorkspace["cause"];
/** How a process has ended whose changes a commit has. */
export type CommittedEnd = NonNullable<CommitWorkspace["ended"]>[number];
type CommitFields = Pick<CommitWorkspace, "materialization_id" | "environment_id" | "epoch">;

export type CommitterOptions = {
  client: WorkerClient;
  fields: CommitFields;
  /** The folder whose files are committed. */
  root: string;
  blobs: BlobSink;
  /** What the folder was written from. */
  base: { versionId: string; manifestDigest: string; tree: Tree; cache: StatCache };
  noteCommitFailed(): void;
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
  #lastFailed = false;
  #leftOut: { count: number; first: readonly LeftOut[] } = { count: 0, first: [] };
  /** Ends that the next commit tells. */
  #ended: CommittedEnd[] = [];

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

  /** The last commit did not succeed, is under way, or left something out: the folder has what no version has. */
  failed(): boolean {
    return this.#failed || this.#leftOut.count > 0;
  }

  /** The last commit that is over failed. */
  lastFailed(): boolean {
    return this.#lastFailed;
  }

  /** What the last version lacks of what the folder had. */
  leftOut(): { count: number; first: readonly LeftOut[] } {
    return this.#leftOut;
  }

  /**
   * Commits what changed, and resolves with the version that has it, which is the last one when nothing did.
   *
   * @param end is stored with the version, in one transaction; without a change, the caller tells it alone.
   * @throws ServiceError when the server refuses; what went wrong with the files or with storing them.
   */
  commit(cause: CommitCause, end?: CommittedEnd): Promise<string> {
    if (end !== undefined) this.#ended.push(end);
    this.#next ??= this.#enqueue(() => {
      this.#next = null;
      return this.#commit(cause, null, this.#ended.splice(0));
    });
    return this.#next;
  }

  /** Commits the result of the setup; also when it changed nothing. */
  commitSetup(setupDigest: string): Promise<string> {
    return this.#enqueue(() => this.#commit({ kind: "create" }, setupDigest));
  }

  #enqueue(work: () => Promise<string>): Promise<string> {
    const turn = this.#last.then(work);
    turn.then(
      () => (this.#lastFailed = false),
      () => {
        this.#lastFailed = true;
        // What is over fails no more: its lease is another's, or the agent ends.
        if (!this.#options.signal.aborted) this.#options.noteCommitFailed();
      },
    );
    // The next one's turn comes also after a failure, of which this one's caller is told.
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #commit(
    cause: CommitCause,
    setupDigest: string | null,
    ended: readonly CommittedEnd[] = [],
  ): Promise<string> {
    this.#failed = true;
    const lost = new Set<string>();
    for (let repeat = 0; ; repeat += 1) {
      const folder = await this.#scan(lost);
      const { changed, tree, manifest, cache, skipped } = folder;
      if (skipped.length > 0)
        this.#options.logger.info(
          { ...this.#options.fields, skipped: skipped.slice(0, 20), count: skipped.length },
          "pipes, sockets and devices of a workspace are in no version",
        );
      if (changed || setupDigest !== null) {
        const manifestDigest = manifest?.digest ?? this.#manifestDigest;
        const committed = await this.#send({ cause, manifestDigest, setupDigest, ended, folder }).catch(
          (error: unknown) => {
            if (repeat >= MAX_REPEATS || !this.#mend(error, lost)) throw error;
            return null;
          },
        );
        if (committed === null) continue;
        this.#versionId = committed.version.id;
        this.#manifestDigest = manifestDigest;
      }
      this.#tree = tree;
      this.#cache = cache;
      this.#failed = false;
      this.#leftOut = { count: folder.leftOutCount, first: folder.leftOut };
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
    ended: readonly CommittedEnd[];
    folder: CommittedFolder;
  }): Promise<CommittedWorkspace> {
    const { client, fields, random, signal } = this.#options;
    const body: CommitWorkspace = {
      ...fields,
      commit_id: randomUUID(),
      parent_version_id: this.#versionId,
      manifest_digest: commit.manifestDigest,
      cause: commit.cause,
      ...(commit.ended.length === 0 ? {} : { ended: [...commit.ended] }),
      ...(commit.setupDigest === null ? {} : { setup_digest: commit.setupDigest }),
    };
    const notes = notesOf(commit.folder);
    if (notes !== null) body.notes = notes;
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

/** What of the folder its version has under another name, or not at all; null when that is nothing. */
function notesOf({
  renamed,
  leftOut,
  leftOutCount,
}: CommittedFolder): NonNullable<CommitWorkspace["notes"]> | null {
  if (renamed.length === 0 && leftOutCount === 0) return null;
  const shown = (path: string): string => path.slice(0, LIMITS.namedPathCharacters).toWellFormed();
  return {
    renamed: renamed.slice(0, LIMITS.namedPaths).map(shown),
    renamed_count: renamed.length,
    left_out: leftOut.slice(0, LIMITS.namedPaths).map(({ path, reason }) => ({ path: shown(path), reason })),
    left_out_count: leftOutCount,
  };
}
