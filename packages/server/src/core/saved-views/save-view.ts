import { LIMITS, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import {
  countSavedViews,
  findSavedView,
  isViewNameTaken,
  lockViewOwner,
  type SavedViewRow,
  type ViewOwner,
} from "./saved-view-reads.ts";
import { deleteSavedView, insertSavedView, updateSavedView } from "./saved-view-writes.ts";

type ViewContent = Pick<SavedViewRow, "name" | "filter" | "columns">;

/** @throws DomainError `already_exists`, or `invalid_state` when the person has as many as there may be */
export async function createView(
  tx: Tx,
  owner: ViewOwner,
  { id, now, ...content }: ViewContent & { id: Uuid<"view">; now: number },
): Promise<SavedViewRow> {
  await lockViewOwner(tx, owner);
  await refuseTaken(tx, owner, content.name, id);
  if ((await countSavedViews(tx, owner)) >= LIMITS.savedViews)
    throw new DomainError(
      "invalid_state",
      `You have ${LIMITS.savedViews} saved views in this environment, which is the limit. Delete one first.`,
    );
  const view = { ...content, id, createdAt: now, updatedAt: now };
  await insertSavedView(tx, owner, view);
  return view;
}

/** @throws DomainError `not_found`, `already_exists` */
export async function changeView(
  tx: Tx,
  owner: ViewOwner,
  id: Uuid<"view">,
  { now, ...changes }: Partial<ViewContent> & { now: number },
): Promise<SavedViewRow> {
  await lockViewOwner(tx, owner);
  const known = await findSavedView(tx, owner, id);
  if (known === null) throw notFound();
  const view = { ...known, ...changes, updatedAt: now };
  await refuseTaken(tx, owner, view.name, id);
  await updateSavedView(tx, owner, view);
  return view;
}

/** @throws DomainError `not_found` */
export async function dropView(tx: Tx, owner: ViewOwner, id: Uuid<"view">): Promise<void> {
  if (!(await deleteSavedView(tx, owner, id))) throw notFound();
}

async function refuseTaken(tx: Tx, owner: ViewOwner, name: string, id: Uuid<"view">): Promise<void> {
  if (await isViewNameTaken(tx, owner, name, id))
    throw new DomainError("already_exists", `You have a saved view named ${name} in this environment.`);
}
