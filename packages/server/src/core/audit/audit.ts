import type { AuditEvent, AuditFault, Uuid } from "@keelson/contract";

/**
 * The audit log.
 *
 * An event says who did what to which resource, when, from where and by which credential. It is written in the transaction
 * of what it tells of, and stays: nothing changes or removes it. The events of an organization are a chain, in which each
 * has the digest of the one before; what belongs to no organization is in the chain of the installation. Whoever keeps the
 * newest digest somewhere else can tell later whether anything before it was changed.
 */

/** The chain of what belongs to no organization. */
export const INSTALLATION_CHAIN = "00000000-0000-0000-0000-000000000000";

/** What the first event of a chain has as the digest of the one before it. */
export const NO_DIGEST: string = "0".repeat(64);

/** An event as it is digested: what callers see, without its digest. Words of the wire, since the bytes must be the same. */
export type AuditContent = Omit<AuditEvent, "digest">;

/** What is known of an event before it has a place in its chain. Ids are those of the wire, except for the organization. */
export type AuditFacts = Pick<
  AuditContent,
  | "action"
  | "actor"
  | "credential"
  | "resource"
  | "project_id"
  | "environment_id"
  | "address"
  | "request_id"
  | "details"
> & { organizationId: Uuid<"org"> | null };

export const chainOf = (organizationId: Uuid<"org"> | null): string => organizationId ?? INSTALLATION_CHAIN;

/** An event as it is stored; `digest` is in hexadecimal digits. */
export type AuditRow = {
  sequence: number;
  id: Uuid<"aud">;
  action: string;
  actorId: string | null;
  resourceId: string | null;
  content: string;
  digest: string;
};

/** Where the verification of a chain has come. */
export type AuditPlace = { sequence: number; digest: string };

/**
 * What is wrong with an event after the one at `last`; null when it is as it was written.
 *
 * @param actual the digest of its stored content
 * @param ids the wire's ids of the event and its organization, by the columns that it was found by
 */
export function findFault(
  last: AuditPlace,
  row: AuditRow,
  actual: string,
  ids: { event: string; organization: string | null },
): { kind: AuditFault; message: string } | null {
  if (row.sequence !== last.sequence + 1)
    return { kind: "missing", message: `The chain goes from ${last.sequence} to ${row.sequence}.` };
  if (actual !== row.digest)
    return { kind: "changed", message: "The event's content does not have the event's digest." };
  const content = JSON.parse(row.content) as AuditContent;
  if (content.previous_digest !== last.digest)
    return { kind: "unlinked", message: "The event was not written after the one that is before it now." };
  const isFiled =
    content.id === ids.event &&
    content.organization_id === ids.organization &&
    content.sequence === row.sequence &&
    content.action === row.action &&
    content.actor.id === row.actorId &&
    content.resource.id === row.resourceId;
  return isFiled ? null : { kind: "misfiled", message: "The event is filed under what it is not about." };
}
