import type { ReactNode } from "react";
import type { List } from "../api/use-list.ts";
import { Loading } from "./async.tsx";
import { Button } from "./button.tsx";
import { cx } from "./class-names.ts";
import { ErrorPanel } from "./error-panel.tsx";

export type Column<Row> = {
  heading: string;
  cell: (row: Row) => ReactNode;
  /** Numbers stand at the right. */
  isNumber?: boolean;
  /** Left out on narrow screens. */
  isOptional?: boolean;
};

type TableProps<Row> = {
  /** What it lists, for those who do not see it. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
};

/** Rows of a bounded number. The first column is each row's heading. */
export function Table<Row>({ label, columns, rows, rowKey }: TableProps<Row>): ReactNode {
  const cellClass = ({ isNumber, isOptional }: Column<Row>): string =>
    cx(
      "px-3 py-2 align-middle",
      isNumber === true ? "text-right tabular-nums" : "text-left",
      isOptional === true && "hidden md:table-cell",
    );
  return (
    <div
      tabIndex={0}
      role="region"
      aria-label={label}
      className="overflow-x-auto rounded-lg border border-line bg-surface"
    >
      <table className="w-full border-collapse text-sm">
        <thead>
          <tr className="border-b border-line bg-raised text-xs text-quiet">
            {columns.map((column) => (
              <th
                key={column.heading}
                scope="col"
                className={cx(cellClass(column), "font-medium whitespace-nowrap")}
              >
                {column.heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} className="border-b border-line last:border-0 hover:bg-raised">
              {columns.map((column) => (
                <td key={column.heading} className={cellClass(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A list of the server as a table, with its next page, or why there is none. */
export function ListTable<Row>({
  list,
  empty,
  ...table
}: Omit<TableProps<Row>, "rows"> & {
  list: List<Row>;
  /** Shown instead of an empty table. */
  empty: ReactNode;
}): ReactNode {
  if (list.error !== null) return <ErrorPanel error={list.error} onRetry={list.refetch} />;
  if (list.isPending) return <Loading />;
  if (list.rows.length === 0) return empty;
  return (
    <>
      <Table {...table} rows={list.rows} />
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
