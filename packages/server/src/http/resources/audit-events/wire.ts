import type { AuditEvent } from "@keelson/contract";
import type { AuditContent, AuditRow } from "../../../core/audit/audit.ts";

/** The event as it was digested, with its digest. */
export const toAuditEvent = ({ content, digest }: AuditRow): AuditEvent => ({
  ...(JSON.parse(content) as AuditContent),
  digest,
});

/** The same as one line: the bytes that were digested, and the digest as the last member. */
export const toAuditLine = ({ content, digest }: AuditRow): string =>
  `${content.slice(0, -1)},"digest":"${digest}"}\n`;
