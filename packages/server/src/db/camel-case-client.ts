import pg from "pg";
import { camelCase } from "./camel-case.ts";

type RowDescription = { fields: { name: string }[] };

/** How the driver hears of the columns of an answer. It is not in its types; a test notices when it goes. */
const prototype = pg.Client.prototype as unknown as {
  _handleRowDescription(message: RowDescription): void;
};

/** A client whose rows have the names of their columns in camelCase. */
export class CamelCaseClient extends pg.Client {
  _handleRowDescription(message: RowDescription): void {
    for (const field of message.fields) field.name = camelCase(field.name);
    prototype._handleRowDescription.call(this, message);
  }
}
