import type { Token } from "@keelson/contract";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { useList, type List } from "../../api/use-list.ts";
import { listTokens } from "../../api/routes/tokens.ts";
import { definedFields } from "../../app/search-text.ts";
import { Loading } from "../../ui/async.tsx";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { FilterField, FilterSelect } from "../../ui/filter-field.tsx";
import { Page } from "../../ui/page.tsx";
import { Overtaken } from "./outcome.tsx";
import { TokenCard } from "./token-card.tsx";
import { TOKEN_FILTERS, TOKEN_ORDERS, type TokensSearch } from "./token-routes.ts";

/** An inbox of what waits for somebody, and the record of what was decided. */
export function TokensPage(): ReactNode {
  const search = useSearch({ from: "/signed-in/e/$environmentId/tokens" });
  const navigate = useNavigate({ from: "/e/$environmentId/tokens" });
  const change = (changes: { [Name in keyof TokensSearch]: TokensSearch[Name] | undefined }): void =>
    void navigate({ search: (before) => definedFields({ ...before, ...changes }) });
  const [overtaken, setOvertaken] = useState<Token | null>(null);
  const { status = "pending", tag, run_id } = search;
  const order = search.order ?? (status === "pending" ? "oldest" : "newest");
  const list = useList(listTokens, {
    query: { status: status === "all" ? undefined : status, order, tag, run_id },
    refetchMs: 2000,
    limit: 25,
  });
  return (
    <Page title="Tokens" subtitle="A token lets a run wait for a person or another system.">
      <div role="search" aria-label="Filters" className="flex flex-wrap gap-2">
        <FilterSelect
          label="Status"
          all="Waiting"
          value={status === "pending" ? undefined : status}
          words={TOKEN_FILTERS.filter((word) => word !== "pending")}
          onChange={(value) => change({ status: value })}
        />
        <FilterSelect
          label="Order"
          all={status === "pending" ? "Oldest first" : "Newest first"}
          value={search.order}
          words={TOKEN_ORDERS}
          onChange={(value) => change({ order: value })}
        />
        <FilterField label="Tag" value={tag} onChange={(value) => change({ tag: value })} />
        <FilterField label="Run" value={run_id} onChange={(value) => change({ run_id: value })} />
      </div>
      {overtaken !== null && <Overtaken token={overtaken} onDismiss={() => setOvertaken(null)} />}
      <TokenList
        list={list}
        onOvertaken={setOvertaken}
        empty={
          tag !== undefined || run_id !== undefined || status !== "pending" ? (
            <Empty title="No tokens match these filters">Change the filters to see more.</Empty>
          ) : (
            <Empty title="Nothing is waiting for you" command="keelson token create --tag approval">
              A run that asks for a decision makes a token and waits. It is shown here until somebody
              completes it.{" "}
              <Link
                to="/e/$environmentId/tokens"
                from="/e/$environmentId/tokens"
                search={{ status: "all" }}
                className="text-accent underline"
              >
                Earlier tokens
              </Link>
            </Empty>
          )
        }
      />
    </Page>
  );
}

function TokenList({
  list,
  empty,
  onOvertaken,
}: {
  list: List<Token>;
  empty: ReactNode;
  onOvertaken: (token: Token) => void;
}): ReactNode {
  if (list.error !== null) return <ErrorPanel error={list.error} onRetry={list.refetch} />;
  if (list.isPending) return <Loading />;
  if (list.rows.length === 0) return empty;
  return (
    <>
      <ul aria-label="Tokens" className="flex flex-col gap-2">
        {list.rows.map((token) => (
          <li key={token.id}>
            <TokenCard token={token} onOvertaken={onOvertaken} />
          </li>
        ))}
      </ul>
      {list.hasMore && (
        <div>
          <Button onClick={list.loadMore} isBusy={list.isLoadingMore}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}
