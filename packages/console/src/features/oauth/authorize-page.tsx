import type { ChosenGrant, OauthAuthorization, OauthAuthorizationQuery } from "@keelson/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { get, send } from "../../api/client.ts";
import { answerOauthAuthorization, getOauthAuthorization } from "../../api/routes/connected-clients.ts";
import { Async } from "../../ui/async.tsx";
import { LonePage } from "../../ui/lone-page.tsx";
import { SignedInOnly } from "../login/signed-in-only.tsx";
import { readAuthorizationRequest } from "./authorization-request.ts";
import { ChooseGrant } from "./choose-grant.tsx";
import { WhoAsks } from "./who-asks.tsx";

/**
 * A person approves, or denies, what a client sent their browser with. Nothing goes to the client before that: a request that may
 * not be answered is shown as refused, and stays here.
 */
export function AuthorizePage(): ReactNode {
  const request = readAuthorizationRequest(location.search);
  return (
    <LonePage title="Connect a client">
      {typeof request === "string" ? (
        <p role="alert">{request}</p>
      ) : (
        <SignedInOnly returnTo={location.pathname + location.search}>
          <Request request={request} />
        </SignedInOnly>
      )}
    </LonePage>
  );
}

function Request({ request }: { request: OauthAuthorizationQuery }): ReactNode {
  const found = useQuery({
    queryKey: ["oauth-authorization", request],
    queryFn: () => get(getOauthAuthorization, request),
    retry: false,
  });
  return <Async result={found}>{(asked) => <Answer request={request} asked={asked} />}</Async>;
}

function Answer({
  request,
  asked,
}: {
  request: OauthAuthorizationQuery;
  asked: OauthAuthorization;
}): ReactNode {
  const answer = useMutation({
    mutationFn: async (grant: ChosenGrant | null) => {
      const { redirect_to: address } = await send(answerOauthAuthorization, { body: { ...request, grant } });
      // The way back is no part of what the client is told.
      location.replace(address);
    },
  });
  return (
    <>
      <WhoAsks client={asked.client}>
        The answer goes to <strong className="break-all">{asked.redirect_host}</strong>.
      </WhoAsks>
      <ChooseGrant
        asked={asked.access}
        answer={{
          isBusy: answer.isPending || answer.isSuccess,
          error: answer.error,
          give: (grant) => answer.mutate(grant),
        }}
      />
    </>
  );
}
