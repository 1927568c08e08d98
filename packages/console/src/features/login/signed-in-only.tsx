import { ApiError } from "@keelson/sdk/browser";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { meQuery } from "../../app/session.ts";
import { Async } from "../../ui/async.tsx";
import { SignIn } from "./sign-in.tsx";

/** On pages without the shell: who is not signed in does so first, and comes back to `returnTo`. */
export function SignedInOnly({ returnTo, children }: { returnTo: string; children: ReactNode }): ReactNode {
  const me = useQuery(meQuery);
  if (me.error instanceof ApiError && me.error.status === 401)
    return (
      <>
        <p>Sign in first.</p>
        <SignIn returnTo={returnTo} />
      </>
    );
  return (
    <Async result={me}>
      {({ user }) => (
        <>
          <p className="text-sm text-quiet">You are {user?.email}.</p>
          {children}
        </>
      )}
    </Async>
  );
}
