const NAMES = ["action", "actor_id", "resource_id"] as const;

/** Which audit events are looked at, as the address and the route's query have it. */
export type AuditFilter = { [name in (typeof NAMES)[number]]?: string };

export const auditFilter = (search: Record<string, unknown>): AuditFilter =>
  Object.fromEntries(
    NAMES.map((name) => [name, search[name]]).filter(
      ([, value]) => typeof value === "string" && value !== "",
    ),
  ) as AuditFilter;
