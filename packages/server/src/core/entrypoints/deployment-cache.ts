import type {
  DeploymentManifest,
  DeploymentStatus,
  EntrypointDeclaration,
  QueueDeclaration,
  SandboxDeclaration,
  Uuid,
} from "@keelson/contract";
import { isWithin, type Clock } from "../../clock.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import {
  findCurrentDeploymentId,
  findDeclaredDeployment,
  findReadyDeploymentId,
  type DeclaredDeployment,
} from "./entrypoint-reads.ts";
import { createPayloadValidator, type PayloadValidator } from "./payload-validator.ts";

export type CachedEntrypoint = {
  declaration: EntrypointDeclaration;
  /** Null when the entrypoint declares no payload schema. */
  validate: PayloadValidator | null;
};

export type CachedDeployment = {
  id: Uuid<"dep">;
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
  workerGroupId: Uuid<"wgrp">;
  version: string;
  status: DeploymentStatus;
  /** Lower-case hexadecimal. */
  bundleDigest: string;
  bundleFormatVersion: number;
  requirement: string | null;
  /** By declared id. */
  tasks: ReadonlyMap<string, CachedEntrypoint>;
  /** By declared id. */
  actors: ReadonlyMap<string, CachedEntrypoint>;
  /** By name. */
  queues: ReadonlyMap<string, QueueDeclaration>;
  /** By declared id. */
  sandboxes: ReadonlyMap<string, SandboxDeclaration>;
};

/**
 * Deployments as starts need them, without a read a start. What a deployment declares never changes; which one is current
 * is looked up again after a second, and whoever inserts a run against it checks the pointer in the same statement.
 */
export type DeploymentCache = {
  current(environmentId: Uuid<"env">): Promise<CachedDeployment | null>;
  /** Null when there is none of that version, or it is not ready. */
  byVersion(environmentId: Uuid<"env">, version: string): Promise<CachedDeployment | null>;
  byId(environmentId: Uuid<"env">, deploymentId: Uuid<"dep">): Promise<CachedDeployment | null>;
  /** Drops the pointer of an environment: its current deployment has changed. */
  forget(environmentId: Uuid<"env">): void;
  /** The same deployments for an open transaction, which reads the pointer, and what is not held, by itself. */
  within(tx: Tx): DeploymentLookups;
};

export type DeploymentLookups = Pick<DeploymentCache, "current" | "byVersion" | "byId">;

export type DeploymentCacheOptions = { db: Queryable; clock: Clock };

const POINTER_TRUSTED_MS = 1_000;
const MAX_POINTERS = 10_000;
/** Bounds the manifests that are held, in characters of their text. */
const MAX_MANIFEST_CHARACTERS = 32 * 1024 * 1024;

type Held = { deployment: CachedDeployment; characters: number };
type Pointer = { read: Promise<CachedDeployment | null>; trustedUntil: number };
type FindById = DeploymentCache["byId"];

export function createDeploymentCache({ db, clock }: DeploymentCacheOptions): DeploymentCache {
  const held = createHeldDeployments();
  const { byId, byVersion, current: readCurrent } = createLookups(db, held);
  const pointers = new Map<string, Pointer>();

  return {
    byId,
    byVersion,
    within: (tx) => createLookups(tx, held),
    current: (environmentId) => {
      const known = pointers.get(environmentId);
      if (known !== undefined && isWithin(known.trustedUntil - clock(), POINTER_TRUSTED_MS))
        return known.read;
      if (pointers.size >= MAX_POINTERS) pointers.clear();
      // Trusted from before the read, so never for longer than a second after what it saw.
      const pointer: Pointer = {
        read: readCurrent(environmentId),
        trustedUntil: clock() + POINTER_TRUSTED_MS,
      };
      pointers.set(environmentId, pointer);
      pointer.read.catch(() => {
        if (pointers.get(environmentId) === pointer) pointers.delete(environmentId);
      });
      return pointer.read;
    },
    forget: (environmentId) => {
      pointers.delete(environmentId);
    },
  };
}

function createLookups(db: Queryable, held: HeldDeployments): DeploymentLookups {
  const byId = createFindById(db, held);
  const find = (
    environmentId: Uuid<"env">,
    deploymentId: Uuid<"dep"> | null,
  ): Promise<CachedDeployment | null> =>
    deploymentId === null ? Promise.resolve(null) : byId(environmentId, deploymentId);
  return {
    byId,
    byVersion: async (environmentId, version) =>
      find(environmentId, await findReadyDeploymentId(db, environmentId, version)),
    current: async (environmentId) => find(environmentId, await findCurrentDeploymentId(db, environmentId)),
  };
}

/** Look-ups by id: settled deployments are held, and concurrent misses share one read. */
function createFindById(db: Queryable, held: HeldDeployments): FindById {
  const reading = new Map<string, Promise<CachedDeployment | null>>();

  const read = async (
    key: string,
    environmentId: Uuid<"env">,
    deploymentId: Uuid<"dep">,
  ): Promise<CachedDeployment | null> => {
    try {
      const row = await findDeclaredDeployment(db, environmentId, deploymentId);
      if (row === null) return null;
      const deployment = toCached(row);
      // A pending one will change its status.
      if (deployment.status !== "pending") held.add(key, { deployment, characters: row.manifest.length });
      return deployment;
    } finally {
      reading.delete(key);
    }
  };

  return (environmentId, deploymentId) => {
    const key = `${environmentId} ${deploymentId}`;
    const known = held.find(key);
    if (known !== null) return Promise.resolve(known);
    let underWay = reading.get(key);
    if (underWay === undefined) reading.set(key, (underWay = read(key, environmentId, deploymentId)));
    return underWay;
  };
}

type HeldDeployments = ReturnType<typeof createHeldDeployments>;

/** The most recently used deployments whose manifests fit together into the bound. */
function createHeldDeployments() {
  // Least recently used first: a look-up puts its entry at the end.
  const entries = new Map<string, Held>();
  let characters = 0;
  return {
    find: (key: string): CachedDeployment | null => {
      const entry = entries.get(key);
      if (entry === undefined) return null;
      entries.delete(key);
      entries.set(key, entry);
      return entry.deployment;
    },
    add: (key: string, entry: Held): void => {
      entries.set(key, entry);
      characters += entry.characters;
      for (const [oldest, { characters: freed }] of entries) {
        if (characters <= MAX_MANIFEST_CHARACTERS || oldest === key) return;
        entries.delete(oldest);
        characters -= freed;
      }
    },
  };
}

function toCached(row: DeclaredDeployment): CachedDeployment {
  const manifest = JSON.parse(row.manifest) as DeploymentManifest;
  return {
    id: row.id,
    environmentId: row.environmentId,
    projectId: row.projectId,
    workerGroupId: row.workerGroupId,
    version: row.version,
    status: row.status,
    bundleDigest: row.bundleDigest.toString("hex"),
    bundleFormatVersion: row.bundleFormatVersion,
    requirement: row.requirement,
    tasks: byDeclaredId(manifest.tasks),
    actors: byDeclaredId(manifest.actors ?? []),
    queues: new Map((manifest.queues ?? []).map((queue) => [queue.name, queue])),
    sandboxes: new Map((manifest.sandboxes ?? []).map((sandbox) => [sandbox.id, sandbox])),
  };
}

const byDeclaredId = (declarations: readonly EntrypointDeclaration[]): Map<string, CachedEntrypoint> =>
  new Map(declarations.map((declaration) => [declaration.id, toCachedEntrypoint(declaration)]));

const toCachedEntrypoint = (declaration: EntrypointDeclaration): CachedEntrypoint => {
  const schema = declaration.payload_schema ?? null;
  return { declaration, validate: schema === null ? null : createPayloadValidator(schema) };
};
