import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { buttonClass } from "../ui/button.tsx";
import { Empty } from "../ui/empty.tsx";
import { Page } from "../ui/page.tsx";

/** An address that leads nowhere, or to what was deleted or never was the user's to see. */
export function NotFound(): ReactNode {
  return (
    <Page title="Not found">
      <Empty
        title="Page not found"
        action={
          <Link to="/" className={buttonClass("primary")}>
            To the overview
          </Link>
        }
      >
        The page may have been deleted, or it belongs to an environment that you cannot see.
      </Empty>
    </Page>
  );
}
