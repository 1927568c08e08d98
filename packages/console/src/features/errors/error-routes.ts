import { ERROR_GROUP_ORDERS, ERROR_GROUP_STATUSES } from "@keelson/contract/plain";
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";
import { definedFields, searchText, searchWord } from "../../app/search-text.ts";

/** Without a status those that are open. */
export const ERROR_FILTERS = [...ERROR_GROUP_STATUSES, "all"] as const;

export type ErrorsSearch = {
  status?: (typeof ERROR_FILTERS)[number];
  order?: (typeof ERROR_GROUP_ORDERS)[number];
  task?: string;
};

export const errorsRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "errors",
  validateSearch: (search: Record<string, unknown>): ErrorsSearch =>
    definedFields({
      status: searchWord(search["status"], ERROR_FILTERS),
      order: searchWord(search["order"], ERROR_GROUP_ORDERS),
      task: searchText(search["task"]),
    }),
  component: lazyRouteComponent(() => import("./errors-page.tsx"), "ErrorsPage"),
});

export const errorRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "errors/$errorGroupId",
  component: lazyRouteComponent(() => import("./error-page.tsx"), "ErrorPage"),
});
