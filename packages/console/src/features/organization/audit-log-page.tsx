import type { ReactNode } from "react";
import { AuditLog } from "../audit-log/audit-log.tsx";
import { OrganizationPage } from "./organization-page.tsx";
import { organizationKey, useOrganization } from "./use-organization.ts";

export function AuditLogPage(): ReactNode {
  const { id } = useOrganization();
  return (
    <OrganizationPage title="Audit log">
      <AuditLog cacheKey={organizationKey(id)} path="/api/audit-events" scope={{ organization_id: id }} />
    </OrganizationPage>
  );
}
