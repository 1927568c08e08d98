import { useEffect, useEffectEvent } from "react";

/** Calls `work` for Ctrl or Command with the key, wherever the focus is. */
export function useShortcut(key: string, work: () => void): void {
  const onPress = useEffectEvent(work);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== key || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
      event.preventDefault();
      onPress();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [key]);
}
