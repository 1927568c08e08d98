import { ApiError } from "@keelson/sdk/browser";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { send } from "../../api/client.ts";
import { acceptInvitation } from "../../api/routes/people.ts";
import { meQuery } from "../../app/session.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { LonePage } from "../../ui/lone-page.tsx";
import { SignIn } from "../login/sign-in.tsx";

/** Kept over the sign-in, which ends in another tab; never sent to a server but to be accepted. */
const STORE = "keelson.invitation";
const PAGE = "/invitation";

function takeToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return localStorage.getItem(STORE);
  history.replaceState(null, "", PAGE);
  localStorage.setItem(STORE, token);
  return token;
}

/** Who was invited becomes a member: at once when they are new, after signing in when they are not. */
export function InvitationPage(): ReactNode {
  const [token] = useState(takeToken);
  return (
    <LonePage title="Join an organization">
      {token === null ? <p>Open the link in the invitation mail.</p> : <Accept token={token} />}
    </LonePage>
  );
}

function Accept({ token }: { token: string }): ReactNode {
  const queries = useQueryClient();
  const accept = useMutation({
    mutationFn: async () => {
      // A member signs in first, whose requests by cookie then carry the token of `GET /api/me`.
      await queries.query({ ...meQuery, retry: false }).catch(unlessSignedOut);
      const accepted = await send(acceptInvitation, { body: { token, session: "cookie" } });
      localStorage.removeItem(STORE);
      queries.clear();
      return accepted.organization;
    },
  });
  if (accept.data !== undefined)
    return (
      <>
        <p role="status">
          You are {accept.data.role} of {accept.data.name}.
        </p>
        <Link to="/" className={buttonClass("primary")}>
          To the console
        </Link>
      </>
    );
  const mustSignIn = accept.error instanceof ApiError && accept.error.status === 401;
  return (
    <>
      <p>You are invited. Accept to become a member.</p>
      {accept.error !== null && <ErrorPanel error={accept.error} />}
      {mustSignIn ? (
        <SignIn returnTo={PAGE} />
      ) : (
        <Button kind="primary" isBusy={accept.isPending} onClick={() => accept.mutate()}>
          Accept the invitation
        </Button>
      )}
    </>
  );
}

function unlessSignedOut(error: unknown): void {
  if (!(error instanceof ApiError) || error.status !== 401) throw error;
}
