import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import type { QuotaOverrides } from "./quota.ts";
import { upsertQuotas } from "./quota-writes.ts";

/**
 * Sets what an environment may have at once, for the operator of the installation. All servers know within a few seconds.
 * What there is already stays, even when it is more.
 *
 * @throws DomainError `not_found`
 */
export async function setQuotas(
  tx: Tx,
  environmentId: Uuid<"env">,
  quotas: QuotaOverrides,
  now: number,
): Promise<void> {
  if (!(await upsertQuotas(tx, environmentId, quotas, now))) throw notFound();
}
