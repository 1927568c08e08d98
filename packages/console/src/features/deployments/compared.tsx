import type { Deployment } from "@keelson/contract";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useItem } from "../../api/use-item.ts";
import { useList } from "../../api/use-list.ts";
import { at } from "../../api/route.ts";
import { getDeployment, listDeployments } from "../../api/routes/deployments.ts";
import { Async } from "../../ui/async.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Section } from "../../ui/page.tsx";
import { ChangeList } from "./change-list.tsx";
import { diffDeployments, isOlder } from "./diff-deployments.ts";

const MAX_CHOICES = 100;

/** What a version declares otherwise than another one: than the one before it, unless another is chosen. */
export function Compared({ deployment }: { deployment: Deployment }): ReactNode {
  const { from } = useSearch({ strict: false });
  const navigate = useNavigate();
  const list = useList(listDeployments, { limit: MAX_CHOICES });
  const others = list.rows.filter(({ id }) => id !== deployment.id);
  const before = others.find(
    ({ version, status }) => status === "ready" && isOlder(version, deployment.version),
  );
  const chosen = from ?? before?.id;
  if (chosen === undefined) return null;
  return (
    <Section title="Changes">
      <div className="max-w-xs">
        <SelectField
          label="Compared with"
          value={chosen}
          options={others.map(({ id, version, is_current: isCurrent }) => [
            id,
            isCurrent ? `${version} (current)` : version,
          ])}
          onChange={({ target }) =>
            void navigate({ to: ".", search: { from: target.value }, replace: true, resetScroll: false })
          }
        />
      </div>
      <Changes fromId={chosen} to={deployment} />
    </Section>
  );
}

function Changes({ fromId, to }: { fromId: string; to: Deployment }): ReactNode {
  const from = useItem(at(getDeployment, { id: fromId }));
  return <Async result={from}>{(shown) => <ChangeList changes={diffDeployments(shown, to)} />}</Async>;
}
