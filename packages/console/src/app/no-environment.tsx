import type { ReactNode } from "react";
import { Empty } from "../ui/empty.tsx";
import { Page } from "../ui/page.tsx";

export function NoEnvironment(): ReactNode {
  return (
    <Page title="Welcome">
      <Empty title="You have no project yet">
        Ask an owner of your organization to invite you. An admin of this server can create an organization.
      </Empty>
    </Page>
  );
}
