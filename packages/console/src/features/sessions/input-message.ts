import { readChatQuestion } from "@keelson/contract/chat";

/** How what is typed becomes the data of a record. */
export const INPUT_FORMS = ["text", "object", "json"] as const;
export type InputForm = (typeof INPUT_FORMS)[number];

export const INPUT_FORM_LABELS: Record<InputForm, string> = {
  text: "Text",
  object: '{"text": …}',
  json: "JSON",
};

export type InputData = { data: unknown } | { problem: string };

export function toInputData(form: InputForm, typed: string): InputData {
  switch (form) {
    case "text":
      return { data: typed };
    case "object":
      return { data: { text: typed } };
    case "json":
      try {
        return { data: JSON.parse(typed) as unknown };
      } catch (error) {
        return { problem: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
      }
  }
}

/** How records like this one are typed: the next one will likely be alike. */
export function formOfData(data: unknown): InputForm {
  // A chat takes a text for a message of its own.
  if (typeof data === "string" || readChatQuestion(data) !== null) return "text";
  const isTextAlone =
    typeof data === "object" &&
    data !== null &&
    !Array.isArray(data) &&
    Object.keys(data).length === 1 &&
    "text" in data &&
    typeof data.text === "string";
  return isTextAlone ? "object" : "json";
}
