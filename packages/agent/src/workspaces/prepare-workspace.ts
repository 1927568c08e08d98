import type { Isolation, LeasedMaterialization } from "@keelson/contract";
import { decodeManifest, TreeError, writeFolder, type StatCache, type Tree } from "@keelson/workspace-tree";
import { Committer } from "./committer.ts";
import type { WorkspaceContext } from "./held-workspace.ts";
import { openRemoteBlobs } from "./remote-blobs.ts";
import { createWorkspaceFolder, findWorkspaceFolder, type WorkspaceFolder } from "./workspace-folder.ts";
import { startProcesses, type WorkspaceProcesses } from "./workspace-processes.ts";

/** A workspace whose files are there and whose processes can begin. */
export type Prepared = {
  folder: WorkspaceFolder;
  committer: Committer;
  processes: WorkspaceProcesses;
};

export type PrepareOptions = WorkspaceContext & {
  leased: LeasedMaterialization;
  /** Ends the preparation. */
  preparing: AbortSignal;
  /** Ends everything of it. */
  over: AbortSignal;
  commit(committer: Committer, cause: { kind: "exec" | "pty"; id: string }): Promise<string | null>;
};

const folderName = ({ materialization_id, epoch }: LeasedMaterialization): string => {
  if (!/^mat_[0-9a-z]{26}$/.test(materialization_id)) throw new Error("A materialization has no proper id.");
  return `${materialization_id}-${epoch}`;
};

/**
 * Writes the files of the base version into a folder of their own, and runs the setup where its result is not kept yet.
 *
 * @throws TreeError for a blob that is missing or damaged; an error that says what the setup did wrong.
 */
export async function prepareWorkspace(options: PrepareOptions): Promise<Prepared> {
  const { leased } = options;
  requireIsolation(options.isolation, leased);
  const folder = await createWorkspaceFolder(options.folder, folderName(leased), options.owner);
  try {
    const blobs = openRemoteBlobs({
      ...options,
      environmentId: leased.environment_id,
      signal: options.preparing,
    });
    const tree = await loadBase(leased, blobs);
    const cache = await writeFolder(folder.root, tree, {
      source: blobs,
      signal: options.preparing,
      ...(options.owner === null ? {} : { owner: options.owner }),
    });
    const prepared = await begin(options, folder, tree, cache);
    await setUp(options, prepared);
    await folder.markComplete();
    return prepared;
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

/**
 * Goes on with what an earlier process of this agent left.
 *
 * @throws Error when it left nothing that can be gone on with.
 */
export async function adoptWorkspace(options: PrepareOptions): Promise<Prepared> {
  const { leased } = options;
  const folder = await findWorkspaceFolder(options.folder, folderName(leased));
  if (folder === null) {
    throw new Error(
      "The worker was started again and has nothing left of the workspace. What had changed since the last version is lost; the next materialization begins with that version.",
    );
  }
  const blobs = openRemoteBlobs({
    ...options,
    environmentId: leased.environment_id,
    signal: options.preparing,
  });
  // Everything is read again at the next commit, and what the base has is recognized.
  return begin(options, folder, await loadBase(leased, blobs), new Map());
}

async function begin(
  options: PrepareOptions,
  folder: WorkspaceFolder,
  tree: Tree,
  cache: StatCache,
): Promise<Prepared> {
  const { leased, over } = options;
  const { version_id: versionId, manifest_digest: manifestDigest } = leased.base;
  const fields = {
    materialization_id: leased.materialization_id,
    environment_id: leased.environment_id,
    epoch: leased.epoch,
  };
  const committer = new Committer({
    ...options,
    fields,
    root: folder.root,
    blobs: openRemoteBlobs({ ...options, environmentId: leased.environment_id, signal: over }),
    base: { versionId, manifestDigest, tree, cache },
    signal: over,
  });
  const processes = await startProcesses({
    ...options,
    fields,
    folder,
    commit: (cause) => options.commit(committer, cause),
  });
  return { folder, committer, processes };
}

function requireIsolation(works: Isolation, { sandbox }: LeasedMaterialization): void {
  if (sandbox.isolation === "namespace" && works !== "namespace")
    throw new Error(`The sandbox asks for isolation by namespaces, and this worker has only ${works}.`);
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

async function setUp({ leased }: PrepareOptions, { committer, processes }: Prepared): Promise<void> {
  if (leased.setup === null) return;
  for (const [index, command] of leased.setup.commands.entries()) {
    const { problem, output } = await processes.runSetup(command, index + 1);
    if (problem !== null)
      throw new Error(
        `The setup command ${index + 1} of ${leased.setup.commands.length} ${problem}.${output === "" ? "" : ` Its output ends:\n${output}`}`,
      );
  }
  await committer.commitSetup(leased.setup.digest);
}
