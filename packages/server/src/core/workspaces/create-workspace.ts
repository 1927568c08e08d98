import { DEFAULT_SANDBOX, decodeId, type SandboxSpec, type Uuid } from "@keelson/contract";
import { EMPTY_TREE } from "@keelson/workspace-tree";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { BlobContext } from "../blobs/store-blob.ts";
import type { DeploymentCache } from "../entrypoints/deployment-cache.ts";
import { sandboxSpec } from "../sandboxes/sandbox.ts";
import { findSandboxBase } from "../sandboxes/sandbox-reads.ts";
import { setupDigest } from "../sandboxes/setup-digest.ts";
import { recordVersion } from "../versions/record-version.ts";
import { storeTree, toStoredTree } from "../versions/store-tree.ts";
import type { TreeCache } from "../versions/tree-cache.ts";
import type { StoredTree } from "../versions/version.ts";
import { findVersion, holdVersion } from "../versions/version-reads.ts";
import { findWorkspace, type WorkspaceRow } from "./workspace-reads.ts";
import { insertWorkspace } from "./workspace-writes.ts";

export type WorkspaceOrigin = {
  sandbox: string;
  spec: SandboxSpec;
  /** Still to be run. */
  setupDigest: Buffer | null;
  /** The version it begins as; null for an empty tree. */
  versionId: Uuid<"wsv"> | null;
  tree: StoredTree;
};

export type OriginContext = BlobContext & { deployments: DeploymentCache; trees: TreeCache };

/**
 * What a new workspace begins with: the files of another version, what its sandbox's setup made before, or nothing.
 * Everything that takes the blob store is done here, before the transaction that creates it.
 *
 * @throws DomainError `invalid_request` for a sandbox or version that is not there.
 */
export async function resolveOrigin(
  context: OriginContext,
  environmentId: Uuid<"env">,
  /** The version is named as it was sent. */
  request: { sandbox: string | null; fromVersionId: string | null },
): Promise<WorkspaceOrigin> {
  if (request.fromVersionId !== null)
    return forkOrigin(context, environmentId, request.fromVersionId, request.sandbox);
  const sandbox = request.sandbox ?? DEFAULT_SANDBOX;
  return sandboxOrigin(context, environmentId, sandbox, requireSpec(context, environmentId, sandbox));
}

/** What a new workspace of a sandbox begins with. */
export async function sandboxOrigin(
  context: OriginContext,
  environmentId: Uuid<"env">,
  sandbox: string,
  declared: SandboxSpec | Promise<SandboxSpec>,
): Promise<WorkspaceOrigin> {
  // Most begin empty, and somebody waits: what that takes is asked for beside the sandbox.
  const [spec, empty] = await Promise.all([declared, storeTree(context, environmentId, EMPTY_TREE)]);
  const setup = setupDigest(spec);
  const baseId = setup === null ? null : await findSandboxBase(context.db, environmentId, setup);
  if (baseId !== null) {
    const tree = await loadVersion(context, environmentId, baseId);
    if (tree !== null) return { sandbox, spec, setupDigest: null, versionId: baseId, tree };
  }
  return { sandbox, spec, setupDigest: setup, versionId: null, tree: empty };
}

async function forkOrigin(
  context: OriginContext,
  environmentId: Uuid<"env">,
  text: string,
  sandbox: string | null,
): Promise<WorkspaceOrigin> {
  const versionId = decodeId("wsv", text);
  const version = versionId === null ? null : await findVersion(context.db, environmentId, versionId);
  const from = version === null ? null : await findWorkspace(context.db, environmentId, version.workspaceId);
  const tree = version === null ? null : await loadVersion(context, environmentId, version.id);
  if (version === null || from === null || tree === null) throw noVersion();
  const isSame = sandbox === null || sandbox === from.sandbox;
  return {
    sandbox: sandbox ?? from.sandbox,
    spec: isSame
      ? (JSON.parse(from.sandboxSpec) as SandboxSpec)
      : await requireSpec(context, environmentId, sandbox),
    // The files are there already; a setup would run over them.
    setupDigest: null,
    versionId: version.id,
    tree,
  };
}

const noVersion = (): DomainError =>
  invalidRequest([
    {
      path: "from_version_id",
      message:
        "there is no such version in this environment; take the id of a version of one of its workspaces",
    },
  ]);

async function requireSpec(
  { deployments }: OriginContext,
  environmentId: Uuid<"env">,
  sandbox: string,
): Promise<SandboxSpec> {
  const declared = (await deployments.current(environmentId))?.sandboxes.get(sandbox) ?? null;
  if (declared === null && sandbox !== DEFAULT_SANDBOX) {
    throw invalidRequest([
      {
        path: "sandbox",
        message: `the current deployment declares no sandbox "${sandbox}"; deploy it, or leave it out for the built-in one`,
      },
    ]);
  }
  return sandboxSpec(declared);
}

async function loadVersion(
  { db, trees }: OriginContext,
  environmentId: Uuid<"env">,
  versionId: Uuid<"wsv">,
): Promise<StoredTree | null> {
  const version = await findVersion(db, environmentId, versionId);
  if (version === null) return null;
  const manifestDigest = version.manifestDigest.toString("hex");
  const { tree, blobs } = await trees.load(environmentId, manifestDigest);
  return toStoredTree(tree, manifestDigest, blobs);
}

export type WorkspaceCreation = {
  /** Of the run that it is made for, which refers to it already. */
  madeFor?: { id: Uuid<"ws">; runId: Uuid<"run"> };
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
  origin: WorkspaceOrigin;
  externalId: string | null;
  /** JSON text. */
  metadata: string | null;
  tags: readonly string[] | null;
  now: number;
};

/**
 * Creates a workspace with its first version.
 *
 * @throws DomainError `already_exists` when an active workspace has the external id; `invalid_request` when the version
 * that it is to begin as went meanwhile.
 */
export async function createWorkspace(
  tx: Tx,
  newUuid: NewUuid,
  creation: WorkspaceCreation,
): Promise<WorkspaceRow> {
  const { environmentId, origin, externalId, now } = creation;
  const id = creation.madeFor?.id ?? newUuid<"ws">();
  const versionId = newUuid<"wsv">();
  if (origin.versionId !== null && (await holdVersion(tx, environmentId, origin.versionId)) === null)
    throw noVersion();
  const workspace = await insertWorkspace(tx, {
    environmentId,
    id,
    projectId: creation.projectId,
    externalId,
    sandbox: origin.sandbox,
    sandboxSpec: JSON.stringify(origin.spec),
    setupDigest: origin.setupDigest,
    currentVersionId: versionId,
    madeForRunId: creation.madeFor?.runId ?? null,
    metadata: creation.metadata,
    tags: creation.tags,
    createdAt: now,
  });
  if (workspace === null) {
    throw new DomainError(
      "already_exists",
      `A workspace of this environment has the external id ${JSON.stringify(externalId)}. Use it, delete it, or choose another id.`,
      { external_id: externalId },
    );
  }
  await recordVersion(tx, {
    environmentId,
    id: versionId,
    workspaceId: id,
    number: 1,
    parentVersionId: origin.versionId,
    cause: { kind: "create", id: null },
    commitId: null,
    notes: null,
    tree: origin.tree,
    createdAt: now,
  });
  return workspace;
}
