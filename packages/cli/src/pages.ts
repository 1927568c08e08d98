import type { Page, PagedList } from "@keelson/sdk";

/**
 * The first page of a list, or with `all` every page as one. With `until found`, the first page that has something: one of a
 * search may be empty, and the list goes on.
 */
export async function collectPages<T>(
  list: PagedList<T>,
  which: boolean | "all" | "until found",
): Promise<Page<T>> {
  const all = which === true || which === "all";
  const items: T[] = [];
  for await (const page of list.pages()) {
    items.push(...page.items);
    if (!all && (which === false || items.length > 0)) return { items, nextCursor: page.nextCursor };
  }
  return { items, nextCursor: null };
}
