import type { ReactNode } from "react";
import { ORGANIZATION_PAGES } from "../../app/navigation.ts";
import { Page } from "../../ui/page.tsx";
import { SubNavigation } from "../../ui/sub-navigation.tsx";
import { useOrganization } from "./use-organization.ts";

/** A page of an organization, with the way to its others. */
export function OrganizationPage({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}): ReactNode {
  const { id, name, role } = useOrganization();
  return (
    <Page title={title} subtitle={`${name} · you are ${role}`} actions={actions}>
      <SubNavigation label="Organization" base={`/organizations/${id}`} pages={ORGANIZATION_PAGES} />
      {children}
    </Page>
  );
}
