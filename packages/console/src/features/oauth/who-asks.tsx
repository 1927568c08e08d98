import type { OauthGrant } from "@keelson/contract";
import type { ReactNode } from "react";
import { visibleText } from "../../ui/visible-text.ts";

/** A client by the name that it gave itself, or by its id when it gave none. */
export const nameOf = ({ id, name }: OauthGrant["client"]): string => visibleText(name ?? id);

/** Who asks, so that a person can tell a client that they started from one that somebody else sent them to. */
export function WhoAsks({
  client,
  children,
}: {
  client: OauthGrant["client"];
  children: ReactNode;
}): ReactNode {
  return (
    <>
      <p>
        <strong className="break-words">{nameOf(client)}</strong> asks to use Keelson as you. {children}
      </p>
      <p className="text-sm text-quiet">
        The client chose this name itself, and nobody has checked it. Approve it only if you started this.
      </p>
    </>
  );
}
