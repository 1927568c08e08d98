import type { Page, PagedList } from "@keelson/sdk";

/** The first page of a list, or with `all` every page as one. */
export async function collectPages<T>(list: PagedList<T>, all: boolean): Promise<Page<T>> {
  const items: T[] = [];
  for await (const page of list.pages()) {
    items.push(...page.items);
    if (!all) return { items, nextCursor: page.nextCursor };
  }
  return { items, nextCursor: null };
}
