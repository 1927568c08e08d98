import type { ReactNode } from "react";
import { Page } from "../../ui/page.tsx";

export function RunPage(): ReactNode {
  return <Page title="Run">…</Page>;
}
