import type { ReactNode } from "react";
import { Empty } from "../ui/empty.tsx";
import { Page } from "../ui/page.tsx";

export function NoEnvironment(): ReactNode {
  return (
    <Page title="Welcome">
      <Empty title="You are in no project yet">
        Ask an owner of your organization to invite you. An admin of this server can make an organization.
      </Empty>
    </Page>
  );
}
