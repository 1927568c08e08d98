// Columns are snake_case in PostgreSQL and camelCase in rows. The driver is told the names once for each answer, before its
// first row, so no row is copied for it.

const names = new Map<string, string>();

/** Bounded by the code: names of columns are never text from outside. */
export function camelCase(column: string): string {
  let name = names.get(column);
  if (name === undefined) {
    name = column.replaceAll(/(?<=[a-z0-9])_([a-z0-9])/g, (_, first: string) => first.toUpperCase());
    names.set(column, name);
  }
  return name;
}
