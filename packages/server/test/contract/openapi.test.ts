import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import { ERROR_CODES } from "@keelson/contract";
import { familiesOf, openApiDocument } from "../../src/http/openapi/document.ts";
import { routes } from "../../src/http/routes.ts";
import { document, operations, type Any } from "./support/document.ts";

const ajv = new Ajv2020({ strict: false, allErrors: true });
(addFormatsModule as unknown as typeof addFormatsModule.default)(ajv);
ajv.addSchema({ $id: "document", ...document });

/** Every object of the document with the JSON Pointer to it. */
function* objectsOf(value: unknown, pointer = ""): Generator<[string, Any]> {
  if (typeof value !== "object" || value === null) return;
  yield [pointer, value];
  for (const [key, item] of Object.entries(value)) {
    if (key === "example" || key === "examples") continue;
    yield* objectsOf(item, `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  }
}

describe("the OpenAPI document", () => {
  test("has every route, once", () => {
    assert.equal(operations.length, routes.length);
    assert.equal(document.openapi, "3.1.0");
    const ids = operations.map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length);
  });

  test("puts each operation under a tag of its family, and each tag into one group", () => {
    const grouped: string[] = document["x-tagGroups"].flatMap(({ tags }: Any) => tags);
    assert.equal(new Set(grouped).size, grouped.length);
    assert.deepEqual(grouped.toSorted(), document.tags.map(({ name }: Any) => name).toSorted());
    const familyOf = new Map(routes.map(({ operationId, family }) => [operationId, family]));
    for (const { operation } of operations) {
      assert.equal(operation.tags.length, 1);
      assert.ok(operation.tags[0].startsWith(`${familyOf.get(operation.operationId)}: `), operation.tags[0]);
      assert.ok(grouped.includes(operation.tags[0]));
    }
    const { tags, paths } = openApiDocument(routes, { families: ["v1"] }) as Any;
    assert.deepEqual([tags, paths["/v1/runs"].get.tags], [undefined, ["Runs"]]);
  });

  test("resolves all its references", () => {
    let count = 0;
    for (const [pointer, { $ref }] of objectsOf(document)) {
      if ($ref === undefined) continue;
      count += 1;
      const target = $ref
        .slice(2)
        .split("/")
        .reduce((value: Any, part: string) => value?.[part], document);
      assert.ok(target, `${pointer} refers to ${$ref}, which is not there`);
    }
    assert.ok(count > 100);
  });

  test("declares every parameter of a path, and no other", () => {
    for (const { name, path, operation } of operations) {
      const declared = operation.parameters
        .filter((parameter: Any) => parameter.in === "path")
        .map((parameter: Any) => parameter.name);
      assert.deepEqual(
        declared,
        [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]),
        name,
      );
    }
  });

  test("has examples that fit their schemas, for every JSON body and answer", () => {
    let count = 0;
    for (const [pointer, media] of objectsOf(document)) {
      if (!pointer.endsWith("/content/application~1json") || media.schema === undefined) continue;
      assert.ok("example" in media, `${pointer} has no example`);
      count += 1;
      // Encoded as a URI fragment.
      const validate = ajv.getSchema(`document#${encodeURI(`${pointer}/schema`)}`);
      assert.ok(validate, pointer);
      assert.ok(validate(media.example), `${pointer}: ${ajv.errorsText(validate.errors)}`);
    }
    assert.ok(count >= operations.length / 2, `only ${count} examples`);
  });

  test("names every error code", () => {
    const text = JSON.stringify(document.components.responses);
    for (const code of Object.keys(ERROR_CODES)) assert.ok(text.includes(`\`${code}\``), code);
  });

  test("has one document a family, together all routes", () => {
    const counts = familiesOf(routes).map((family) => {
      const { paths } = openApiDocument(routes, { families: [family] }) as Any;
      return Object.values<object>(paths).reduce((sum, item) => sum + Object.keys(item).length, 0);
    });
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      routes.length,
    );
  });
});
