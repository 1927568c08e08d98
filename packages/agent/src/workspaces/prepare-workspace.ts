import type { LeasedMaterialization, ProcessStart } from "@keelson/contract";
import {
  decodeManifest,
  EMPTY_TREE,
  encodeManifest,
  TreeError,
  writeFolder,
  type StatCache,
  type Tree,
} from "@keelson/workspace-tree";
import { nameFullDisk } from "../deaths/full-disk.ts";
import { adoptSupervisor, type Supervisor } from "../supervisor/supervisor.ts";
import { Committer, type CommittedEnd } from "./committer.ts";
import type { WorkspaceContext } from "./workspace-context.ts";
import { ProcessRelay, type ProcessRelayOptions } from "./process-relay.ts";
import { toSpec } from "./relayed-process.ts";
import { openRemoteBlobs } from "./remote-blobs.ts";
import { runSetup } from "./run-setup.ts";
import { endFormer, ownerOf, superviseWorkspace } from "./workspace-processes.ts";
import {
  createWorkspaceFolder,
  findUncommittedMark,
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
  commit(
    committer: Committer,
    cause: { kind: "exec" | "pty"; id: string },
    end: CommittedEnd,
  ): Promise<string | null>;
  /** Processes that came with the lease. */
  waiting(): ProcessStart[];
  onBroken(): void;
  onProcessEnded(processId: string): void;
  onLost(): void;
};

const folderName = ({ materialization_id, epoch }: LeasedMaterialization): string => {
  if (!/^mat_[0-9a-z]{26}$/.test(materialization_id)) throw new Error("A materialization has no proper id.");
  return `${materialization_id}-${epoch}`;
};

const placeOf = ({ home, logger, leased, cgroups }: PrepareOptions) => ({
  dataDir: home,
  materializationId: leased.materialization_id,
  logger,
  cgroups,
});

const blobsOf = (options: PrepareOptions, signal: AbortSignal) =>
  openRemoteBlobs({ ...options, environmentId: options.leased.environment_id, signal });

/**
 * Writes the files of the base version into a folder of their own, and runs the setup where its result is not kept yet.
 *
 * @throws TreeError for a blob that is missing or damaged; InfrastructureError when the disk is full; an error that says
 * what the setup did wrong.
 */
export async function prepareWorkspace(options: PrepareOptions): Promise<Prepared> {
  try {
    return await prepare(options);
  } catch (error) {
    throw nameFullDisk(error, options.folder);
  }
}

async function prepare(options: PrepareOptions): Promise<Prepared> {
  const { leased, probe, preparing } = options;
  // An earlier process may have begun to prepare it.
  await endFormer(placeOf(options));
  const owner = ownerOf(probe, leased.materialization_id);
  const folder = await createWorkspaceFolder(options.folder, folderName(leased), owner);
  let supervisor: Supervisor | null = null;
  try {
    const blobs = blobsOf(options, preparing);
    const base = loadBase(leased, blobs);
    base.catch(() => undefined); // Looked at when the supervisor is there, which is to be stopped then.
    // Before the files: it takes the folder for its own, which would look like a change of each of them.
    supervisor = await supervise(options, folder);
    const tree = await base;
    const cache = await writeFolder(folder.root, tree, {
      source: blobs,
      signal: preparing,
      ...(owner === null ? {} : { owner }),
    });
    const prepared = begin(options, { folder, supervisor, origin: "started", tree, cache });
    if (leased.setup !== null) {
      await runSetup(supervisor, leased.setup.commands, preparing);
      await prepared.committer.commitSetup(leased.setup.digest);
    }
    folder.markComplete(leased.environment_id);
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
      "The worker was restarted and no longer has the workspace's files. Changes since the last version are lost; the next materialization begins with that version.",
    );
  }
  const tree = await loadBase(leased, blobsOf(options, preparing));
  const adopted = await adoptSupervisor(placeOf(options));
  const supervisor = adopted ?? (await supervise(options, folder));
  // Everything is read again at the next commit, and what the base has is recognized.
  return begin(options, {
    ...{ folder, supervisor, origin: adopted === null ? "replaced" : "adopted" },
    ...{ tree, cache: new Map() },
  });
}

/** Files that an earlier process of an agent on this folder could not commit. Nothing runs in them any more. */
export type KeptWorkspace = {
  folder: WorkspaceFolder;
  /** What they are committed with, once the base can be read. */
  open(): Promise<Committer>;
};

/**
 * Takes such files up again. Null when there are none of the kind.
 *
 * @throws Error when the folder is gone though the server says that it is kept.
 */
export async function adoptKept(options: PrepareOptions): Promise<KeptWorkspace | null> {
  const { leased } = options;
  if (leased.status !== "uncommitted" && leased.status !== "stopping") return null;
  const folder = await findWorkspaceFolder(options.folder, folderName(leased));
  const isKept = folder !== null && (await findUncommittedMark(folder.path)) !== null;
  if (!isKept && leased.status === "stopping") return null;
  if (folder === null)
    throw new Error(
      "The worker has nothing left of the files that it could not commit. The next materialization begins with the last version.",
    );
  return keepFolder(options, folder);
}

/** What an earlier process left of a workspace that cannot be gone on with. Null when it left nothing. */
export async function keepLeft(options: PrepareOptions): Promise<KeptWorkspace | null> {
  const folder = await findWorkspaceFolder(options.folder, folderName(options.leased));
  return folder === null ? null : keepFolder(options, folder);
}

async function keepFolder(options: PrepareOptions, folder: WorkspaceFolder): Promise<KeptWorkspace> {
  await endFormer(placeOf(options));
  const open = async (): Promise<Committer> => {
    const tree = await loadBase(options.leased, blobsOf(options, options.over));
    return openCommitter(options, { folder, tree, cache: new Map() });
  };
  return { folder, open };
}

function supervise(options: PrepareOptions, folder: WorkspaceFolder): Promise<Supervisor> {
  const { probe, spares, leased, leaseDurationMs, diskBytes } = options;
  const place = placeOf(options);
  return superviseWorkspace({
    ...{ place, leased, probe, spares, diskBytes },
    root: folder.root,
    leaseDurationMs: leaseDurationMs(),
    onGiven: () => openToRoot(folder, ownerOf(probe, leased.materialization_id)),
    // A setup runs before them.
    first: () => (leased.setup === null ? options.waiting().map(toSpec) : []),
  });
}

function begin(
  options: PrepareOptions,
  parts: Omit<Prepared, "committer" | "relay"> &
    Pick<ProcessRelayOptions, "origin"> & { tree: Tree; cache: StatCache },
): Prepared {
  const { folder, supervisor, origin } = parts;
  const { materialization_id, environment_id, epoch } = options.leased;
  const fields = { materialization_id, environment_id, epoch };
  const committer = openCommitter(options, parts);
  const relay = new ProcessRelay({
    ...options,
    ...{ supervisor, origin, fields },
    commit: (cause, end) => options.commit(committer, cause, end),
    onEnded: (processId) => options.onProcessEnded(processId),
  });
  return { folder, committer, supervisor, relay };
}

function openCommitter(
  options: PrepareOptions,
  { folder, tree, cache }: { folder: WorkspaceFolder; tree: Tree; cache: StatCache },
): Committer {
  const { leased, over } = options;
  const { materialization_id, environment_id, epoch } = leased;
  const { version_id: versionId, manifest_digest: manifestDigest } = leased.base;
  return new Committer({
    ...options,
    fields: { materialization_id, environment_id, epoch },
    root: folder.root,
    blobs: blobsOf(options, over),
    base: { versionId, manifestDigest, tree, cache },
    signal: over,
  });
}

/** What a new workspace begins with; nothing has to be fetched for it. */
let emptyManifest: Promise<string> | null = null;

async function loadBase(
  { base }: LeasedMaterialization,
  blobs: { get(digest: string): Promise<Uint8Array | null> },
): Promise<Tree> {
  emptyManifest ??= encodeManifest(EMPTY_TREE).then(({ digest }) => digest);
  if (base.manifest_digest === (await emptyManifest)) return EMPTY_TREE;
  const bytes = await blobs.get(base.manifest_digest);
  if (bytes === null)
    throw new TreeError("missing_blob", `The manifest ${base.manifest_digest} of the version is not there.`, {
      digest: base.manifest_digest,
    });
  const { tree } = await decodeManifest(base.manifest_digest, bytes);
  return tree;
}
