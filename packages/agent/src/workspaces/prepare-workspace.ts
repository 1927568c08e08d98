import type { LeasedMaterialization } from "@keelson/contract";
import { decodeManifest, TreeError, writeFolder, type StatCache, type Tree } from "@keelson/workspace-tree";
import { adoptSupervisor, type Supervisor } from "../supervisor/supervisor.ts";
import { Committer } from "./committer.ts";
import type { WorkspaceContext } from "./held-workspace.ts";
import { ProcessRelay } from "./process-relay.ts";
import { openRemoteBlobs } from "./remote-blobs.ts";
import { runSetup } from "./run-setup.ts";
import { endFormer, ownerOf, superviseWorkspace } from "./workspace-processes.ts";
import {
  createWorkspaceFolder,
  findWorkspaceFolder,
  openToRoot,
  type WorkspaceFolder,
} from "./workspace-folder.ts";

/** A workspace whose files are there and whose processes can begin. */
export type Prepared = {
  folder: WorkspaceFolder;
  committer: Committer;
  supervisor: Supervisor;
  relay: ProcessRelay;
};

export type PrepareOptions = WorkspaceContext & {
  leased: LeasedMaterialization;
  /** Ends the preparation. */
  preparing: AbortSignal;
  /** Ends everything of it. */
  over: AbortSignal;
  commit(committer: Committer, cause: { kind: "exec" | "pty"; id: string }): Promise<string | null>;
  onProcessEnded(processId: string): void;
  onLost(): void;
};

const folderName = ({ materialization_id, epoch }: LeasedMaterialization): string => {
  if (!/^mat_[0-9a-z]{26}$/.test(materialization_id)) throw new Error("A materialization has no proper id.");
  return `${materialization_id}-${epoch}`;
};

const placeOf = ({ home, logger, leased }: PrepareOptions) => ({
  dataDir: home,
  materializationId: leased.materialization_id,
  logger,
});

const blobsOf = (options: PrepareOptions, signal: AbortSignal) =>
  openRemoteBlobs({ ...options, environmentId: options.leased.environment_id, signal });

/**
 * Writes the files of the base version into a folder of their own, and runs the setup where its result is not kept yet.
 *
 * @throws TreeError for a blob that is missing or damaged; an error that says what the setup did wrong.
 */
export async function prepareWorkspace(options: PrepareOptions): Promise<Prepared> {
  const { leased, probe, preparing } = options;
  // An earlier process may have begun to prepare it.
  await endFormer(placeOf(options));
  const owner = ownerOf(probe, leased.materialization_id);
  const folder = await createWorkspaceFolder(options.folder, folderName(leased), owner);
  let supervisor: Supervisor | null = null;
  try {
    const blobs = blobsOf(options, preparing);
    const tree = await loadBase(leased, blobs);
    // Before the files: it takes the folder for its own, which would look like a change of each of them.
    supervisor = await supervise(options, folder);
    const cache = await writeFolder(folder.root, tree, {
      source: blobs,
      signal: preparing,
      ...(owner === null ? {} : { owner }),
    });
    const prepared = begin(options, { folder, supervisor, tree, cache });
    if (leased.setup !== null) {
      await runSetup(supervisor, leased.setup.commands, preparing);
      await prepared.committer.commitSetup(leased.setup.digest);
    }
    await folder.markComplete();
    preparing.throwIfAborted();
    return prepared;
  } catch (error) {
    await supervisor?.stop();
    await folder.remove();
    throw error;
  }
}

/**
 * Goes on with what an earlier process of this agent left: its files and, when its supervisor is alive, its processes.
 *
 * @throws Error when it left nothing that can be gone on with.
 */
export async function adoptWorkspace(options: PrepareOptions): Promise<Prepared> {
  const { leased, preparing } = options;
  const folder = await findWorkspaceFolder(options.folder, folderName(leased));
  if (folder === null) {
    await endFormer(placeOf(options));
    throw new Error(
      "The worker was started again and has nothing left of the workspace. What had changed since the last version is lost; the next materialization begins with that version.",
    );
  }
  const tree = await loadBase(leased, blobsOf(options, preparing));
  const supervisor = (await adoptSupervisor(placeOf(options))) ?? (await supervise(options, folder));
  // Everything is read again at the next commit, and what the base has is recognized.
  return begin(options, { folder, supervisor, tree, cache: new Map() });
}

async function supervise(options: PrepareOptions, folder: WorkspaceFolder): Promise<Supervisor> {
  const { probe, leased, leaseDurationMs } = options;
  const place = placeOf(options);
  const supervisor = await superviseWorkspace({
    ...{ place, leased, probe },
    root: folder.root,
    leaseDurationMs: leaseDurationMs(),
  });
  await openToRoot(folder, ownerOf(probe, leased.materialization_id));
  return supervisor;
}

function begin(
  options: PrepareOptions,
  parts: { folder: WorkspaceFolder; supervisor: Supervisor; tree: Tree; cache: StatCache },
): Prepared {
  const { leased, over } = options;
  const { folder, supervisor, tree, cache } = parts;
  const { version_id: versionId, manifest_digest: manifestDigest } = leased.base;
  const { materialization_id, environment_id, epoch } = leased;
  const fields = { materialization_id, environment_id, epoch };
  const committer = new Committer({
    ...options,
    fields,
    root: folder.root,
    blobs: blobsOf(options, over),
    base: { versionId, manifestDigest, tree, cache },
    signal: over,
  });
  const relay = new ProcessRelay({
    ...options,
    supervisor,
    fields,
    commit: (cause) => options.commit(committer, cause),
    onEnded: (processId) => options.onProcessEnded(processId),
  });
  return { folder, committer, supervisor, relay };
}

async function loadBase(
  { base }: LeasedMaterialization,
  blobs: { get(digest: string): Promise<Uint8Array | null> },
): Promise<Tree> {
  const bytes = await blobs.get(base.manifest_digest);
  if (bytes === null)
    throw new TreeError("missing_blob", `The manifest ${base.manifest_digest} of the version is not there.`, {
      digest: base.manifest_digest,
    });
  const { tree } = await decodeManifest(base.manifest_digest, bytes);
  return tree;
}
