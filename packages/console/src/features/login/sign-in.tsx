import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { hrefOf, send } from "../../api/client.ts";
import { startGithub, startMagicLink } from "../../api/routes/signing-in.ts";
import { signInByToken } from "../../app/login-link.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { TextField } from "../../ui/field.tsx";
import { formValues } from "../../ui/form-values.ts";

/** Every way to sign in that this server has. Whoever has comes back to `returnTo`. */
export function SignIn({ returnTo }: { returnTo: string }): ReactNode {
  return (
    <div className="flex flex-col gap-5">
      <ByMail returnTo={returnTo} />
      <ByGitHub returnTo={returnTo} />
      <ByToken returnTo={returnTo} />
      <OnItsMachine />
    </div>
  );
}

function ByMail({ returnTo }: { returnTo: string }): ReactNode {
  const [sentTo, setSentTo] = useState<string | null>(null);
  const start = useMutation({
    mutationFn: async (email: string) => {
      await send(startMagicLink, { body: { email, return_to: returnTo } });
      setSentTo(email);
    },
  });
  if (sentTo !== null)
    return (
      <p role="status">
        If <strong>{sentTo}</strong> has an account, a link is on its way. Open it in this browser within 15
        minutes. Without a mail server the link stands where the Keelson server writes its output.
      </p>
    );
  return (
    <form className="flex flex-col gap-3" onSubmit={(event) => start.mutate(formValues(event).text("email"))}>
      <TextField label="Mail address" name="email" type="email" autoComplete="email" required />
      {start.error !== null && <ErrorPanel error={start.error} />}
      <Button type="submit" kind="primary" isBusy={start.isPending}>
        Mail me a sign-in link
      </Button>
    </form>
  );
}

/** Shown where it is set up: there the start is a redirect, which is not followed to find out. */
function ByGitHub({ returnTo }: { returnTo: string }): ReactNode {
  const href = hrefOf(startGithub, { return_to: returnTo });
  const { data: isSetUp } = useQuery({
    queryKey: ["github"],
    queryFn: async () => {
      const response = await fetch(href, { redirect: "manual", cache: "no-store" });
      return response.type === "opaqueredirect";
    },
    retry: false,
  });
  if (isSetUp !== true) return null;
  return (
    <a href={href} className={buttonClass()}>
      Sign in by GitHub
    </a>
  );
}

/** Whoever has just started it has no mail yet, and may have closed the terminal. */
const OnItsMachine = (): ReactNode => (
  <details>
    <summary className="text-quiet">You started this server yourself</summary>
    <p className="mt-3">
      <code className="font-mono text-xs">keelson up</code> prints a sign-in link in its terminal. Without a
      terminal it writes the link to the file <code className="font-mono text-xs">login-link</code> in its
      data folder, which is <code className="font-mono text-xs">.keelson</code> unless{" "}
      <code className="font-mono text-xs">KEELSON_DATA_DIR</code> names another.
    </p>
  </details>
);

function ByToken({ returnTo }: { returnTo: string }): ReactNode {
  const signIn = useMutation({
    mutationFn: async (token: string) => {
      await signInByToken(token);
      // A new page: nothing of what this one knew stays.
      location.assign(returnTo);
    },
  });
  return (
    <details>
      <summary className="text-quiet">Sign in with a user token</summary>
      <form
        className="mt-3 flex flex-col gap-3"
        onSubmit={(event) => signIn.mutate(formValues(event).text("token"))}
      >
        <TextField
          label="User token"
          name="token"
          type="password"
          autoComplete="off"
          hint="Use user_token from the server's credentials.json, or the token that keelson login stored."
          required
        />
        {signIn.error !== null && <ErrorPanel error={signIn.error} />}
        <Button type="submit" isBusy={signIn.isPending}>
          Sign in
        </Button>
      </form>
    </details>
  );
}
