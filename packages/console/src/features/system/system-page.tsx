import type { ReactNode } from "react";
import { SYSTEM_PAGES } from "../../app/navigation.ts";
import { Page } from "../../ui/page.tsx";
import { SubNavigation } from "../../ui/sub-navigation.tsx";

/** What is read of the installation, to be read again when it changed. */
export const SYSTEM_KEY = ["s"] as const;

/** A page of the installation, with the way to its others. */
export function SystemPage({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}): ReactNode {
  return (
    <Page title={title} subtitle="State of the whole installation, for admins." actions={actions}>
      <SubNavigation label="System" base="/system" pages={SYSTEM_PAGES} />
      {children}
    </Page>
  );
}
