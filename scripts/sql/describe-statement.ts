// Prepares a statement and reads which columns it returns, without running it.

import type pg from "pg";

/** `typeName` is a name of pg_type. */
export type Column = { name: string; typeName: string };
export type Described = { columns: readonly Column[] } | { error: string };

type RowDescription = { fields: readonly { name: string; dataTypeID: number }[] };

/** Asks for the description of a statement, in place of a query of the driver. */
class Describe {
  readonly described = Promise.withResolvers<readonly { name: string; dataTypeID: number }[]>();
  readonly #text: string;
  #fields: RowDescription["fields"] = [];

  constructor(text: string) {
    this.#text = text;
  }

  submit(connection: pg.Connection): void {
    connection.parse({ name: "", text: this.#text, types: [] }, true);
    connection.describe({ type: "S" }, true);
    connection.sync();
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.#fields = fields;
  }

  handleError(error: Error): void {
    this.described.reject(error);
  }

  handleReadyForQuery(): void {
    this.described.resolve(this.#fields);
  }
}

export type DescribeStatement = (text: string) => Promise<Described>;

export async function createDescribe(client: pg.Client): Promise<DescribeStatement> {
  const { rows } = await client.query<{ oid: number; typname: string }>("SELECT oid, typname FROM pg_type");
  const typeNames = new Map(rows.map(({ oid, typname }) => [oid, typname]));
  return async (text) => {
    try {
      const fields = await client.query(new Describe(text)).described.promise;
      const columns = fields.map(({ name, dataTypeID }) => ({
        name,
        typeName: typeNames.get(dataTypeID) ?? "unknown",
      }));
      return { columns };
    } catch (error) {
      return { error: (error as Error).message };
    }
  };
}
