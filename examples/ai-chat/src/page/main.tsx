import { createRoot } from "react-dom/client";
import { ACTORS, isActorName, type ActorName } from "../actors.ts";
import { Chat, openConversation } from "./chat.tsx";

const asked = new URLSearchParams(location.search).get("with") ?? "";
const actor = isActorName(asked) ? asked : "assistant";

/** The conversation ends for all tabs, and the next one begins. */
async function beginAgain(): Promise<void> {
  const response = await fetch(`/chat/${actor}`, { method: "DELETE" });
  if (!response.ok) throw new Error(await response.text());
  location.reload();
}

const Header = () => (
  <header>
    <h1>AI chat</h1>
    <nav aria-label="Talk to">
      {(Object.keys(ACTORS) as ActorName[]).map((name) => (
        <a key={name} href={`?with=${name}`} aria-current={name === actor ? "page" : undefined}>
          {ACTORS[name]}
        </a>
      ))}
    </nav>
    <button className="small" type="button" onClick={() => void beginAgain().catch(showFailure)}>
      New chat
    </button>
  </header>
);

const place = document.querySelector("#page");
if (place === null) throw new Error("The page has no element #page");
const root = createRoot(place);

function showFailure(error: unknown): void {
  root.render(
    <>
      <Header />
      <main>
        <p className="problem" role="alert">
          {error instanceof Error ? error.message : String(error)}
        </p>
      </main>
    </>,
  );
}

try {
  const conversation = await openConversation(actor);
  root.render(
    <>
      <Header />
      <Chat {...conversation} />
    </>,
  );
} catch (error) {
  showFailure(error);
}
