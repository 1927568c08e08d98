import { useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ErrorPanel } from "../ui/error-panel.tsx";
import { Page } from "../ui/page.tsx";

/** A page that cannot be shown: the server refused or is away, or the page is wrong. The rest of the console stays. */
export function Failure({ error }: ErrorComponentProps): ReactNode {
  const router = useRouter();
  return (
    <Page title="This page failed to load">
      <ErrorPanel error={error} onRetry={() => void router.invalidate()} />
    </Page>
  );
}
