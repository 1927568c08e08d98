import type { ReactNode } from "react";
import { AuditLog } from "../audit-log/audit-log.tsx";
import { OrganizationPage } from "./organization-page.tsx";
import { organizationKey, useOrganization } from "./use-organization.ts";
import { listAuditEvents } from "../../api/routes/audit-log.ts";

export function AuditLogPage(): ReactNode {
  const { id } = useOrganization();
  return (
    <OrganizationPage title="Audit log">
      <AuditLog cacheKey={organizationKey(id)} route={listAuditEvents} scope={{ organization_id: id }} />
    </OrganizationPage>
  );
}
