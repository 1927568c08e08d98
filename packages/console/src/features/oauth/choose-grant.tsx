import type { ChosenGrant, OauthAccess } from "@keelson/contract";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { preferredEnvironment } from "../../app/preferred-environment.ts";
import { placesQuery, type PlaceRow } from "../../app/session.ts";
import { Async } from "../../ui/async.tsx";
import { Button } from "../../ui/button.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { SelectField } from "../../ui/field.tsx";
import { accessChoices } from "./access-choices.ts";

type Answer = { isBusy: boolean; error: unknown; give: (grant: ChosenGrant | null) => void };

/** A person chooses where a client may act, and how, or denies it. */
export function ChooseGrant({ asked, answer }: { asked: OauthAccess; answer: Answer }): ReactNode {
  const places = useQuery(placesQuery);
  return (
    <Async result={places}>
      {(rows) => {
        const [first] = rows;
        return first === undefined ? (
          <p>You are a member of no organization with an environment, so there is nothing to connect to.</p>
        ) : (
          <Choice places={[first, ...rows.slice(1)]} asked={asked} answer={answer} />
        );
      }}
    </Async>
  );
}

function Choice({
  places,
  asked,
  answer,
}: {
  places: readonly [PlaceRow, ...PlaceRow[]];
  asked: OauthAccess;
  answer: Answer;
}): ReactNode {
  const [environmentId, setEnvironmentId] = useState(preferredEnvironment() ?? "");
  const place = places.find(({ environment }) => environment.id === environmentId) ?? places[0];
  const choices = accessChoices(asked, place.organization.permissions);
  const [wanted, setWanted] = useState<OauthAccess>("read");
  const access = choices.some(([value]) => value === wanted) ? wanted : "read";
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        answer.give({ project_id: place.project.id, environment_id: place.environment.id, access });
      }}
    >
      <SelectField
        label="Environment"
        value={place.environment.id}
        onChange={({ target }) => setEnvironmentId(target.value)}
        options={places.map((row) => [row.environment.id, placeName(row)])}
        hint="The client sees this environment and no other."
      />
      <SelectField
        label="What it may do"
        value={access}
        onChange={({ target }) => setWanted(target.value === "write" ? "write" : "read")}
        options={choices}
        hint={
          access === "write"
            ? "It may start tasks, cancel runs, answer approvals and run commands in workspaces, as far as you may."
            : "It may read tasks, runs, logs, errors, tokens and files, as far as you may."
        }
      />
      {answer.error !== null && <ErrorPanel error={answer.error} />}
      <div className="flex gap-2">
        <Button type="submit" kind="primary" isBusy={answer.isBusy}>
          Approve
        </Button>
        <Button kind="danger" isBusy={answer.isBusy} onClick={() => answer.give(null)}>
          Deny
        </Button>
      </div>
    </form>
  );
}

const placeName = ({ organization, project, environment }: PlaceRow): string =>
  `${organization.name} / ${project.name} / ${environment.name}`;
