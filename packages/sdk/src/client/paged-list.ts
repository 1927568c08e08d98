/** One page, its rows under `items`. */
export type Page<T> = {
  /** The rows. */
  items: T[];
  /** For the next page; null on the last one. */
  nextCursor: string | null;
};

/** Which page of a list. */
export type PageQuery = {
  /** Rows a page, 1 to 200. Default 50. */
  limit?: number;
  /** `nextCursor` of an earlier page. */
  cursor?: string;
};

/**
 * A list that is read page by page: `for await` reads every row, and `page()` one page. Both send the first request.
 */
export type PagedList<T> = AsyncIterable<T> & {
  /** One page: the first, or the one after the cursor. */
  page(cursor?: string): Promise<Page<T>>;
  /** Page by page. */
  pages(): AsyncGenerator<Page<T>>;
};

export function createPagedList<T>(
  fetchPage: (cursor: string | undefined) => Promise<Page<T>>,
  first?: string,
): PagedList<T> {
  async function* pages(): AsyncGenerator<Page<T>> {
    let cursor = first;
    do {
      const page = await fetchPage(cursor);
      yield page;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }
  return {
    page: (cursor = first) => fetchPage(cursor),
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page.items;
    },
  };
}

/** A list that is asked for when its first rows are. */
export const laterList = <T>(find: () => Promise<PagedList<T>>): PagedList<T> => ({
  page: async (cursor) => (await find()).page(cursor),
  async *pages() {
    yield* (await find()).pages();
  },
  async *[Symbol.asyncIterator]() {
    yield* await find();
  },
});
