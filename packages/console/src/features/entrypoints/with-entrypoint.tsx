import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { ItemAsync } from "../../app/item-async.tsx";
import { buttonClass } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { pageOf, useEntrypoints, type Entrypoint, type EntrypointKind } from "./entrypoint-kind.ts";

/** The task or actor of the address, if the current deployment declares it. */
export function WithEntrypoint({
  kind,
  children,
}: {
  kind: EntrypointKind;
  children: (entrypoint: Entrypoint) => ReactNode;
}): ReactNode {
  const { declaredId } = useParams({ strict: false });
  return (
    <ItemAsync result={useEntrypoints(kind)}>
      {(rows) => {
        const found = rows.find(({ declared_id: id }) => id === declaredId);
        if (found !== undefined) return children(found);
        return (
          <Page title={declaredId ?? ""}>
            <Empty
              title={`The current deployment declares no ${kind} of this name`}
              action={
                <EnvironmentLink to={pageOf(kind)} className={buttonClass("primary")}>
                  To the {pageOf(kind)}
                </EnvironmentLink>
              }
            >
              It may be of another version. Its runs are still among the runs.
            </Empty>
          </Page>
        );
      }}
    </ItemAsync>
  );
}
