import { TOKEN_STATUSES } from "@keelson/contract/plain";
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";
import { definedFields, searchText, searchWord } from "../../app/search-text.ts";

/** Without a status those that wait for somebody. */
export const TOKEN_FILTERS = [...TOKEN_STATUSES, "all"] as const;
export const TOKEN_ORDERS = ["oldest", "newest"] as const;

export type TokensSearch = {
  status?: (typeof TOKEN_FILTERS)[number];
  order?: (typeof TOKEN_ORDERS)[number];
  tag?: string;
  run_id?: string;
};

export const tokensRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "tokens",
  validateSearch: (search: Record<string, unknown>): TokensSearch =>
    definedFields({
      status: searchWord(search["status"], TOKEN_FILTERS),
      order: searchWord(search["order"], TOKEN_ORDERS),
      tag: searchText(search["tag"]),
      run_id: searchText(search["run_id"]),
    }),
  component: lazyRouteComponent(() => import("./tokens-page.tsx"), "TokensPage"),
});

export const tokenRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "tokens/$tokenId",
  component: lazyRouteComponent(() => import("./token-page.tsx"), "TokenPage"),
});
