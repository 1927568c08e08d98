import { useEffect, useEffectEvent, useRef, type RefObject } from "react";

/** What is scrolled so far, or nearly, is at its end. */
export const END_PIXELS = 80;

/**
 * Keeps a list at its end when its frame becomes lower or higher, such as by what appears below it: whoever was at the end
 * did not scroll away. @returns what is to be called when the list was scrolled.
 */
export function useStayAtEnd(frame: RefObject<HTMLElement | null>, toEnd: () => void): () => void {
  const wasAtEnd = useRef(true);
  const onResize = useEffectEvent(() => {
    if (wasAtEnd.current) toEnd();
  });
  useEffect(() => {
    if (frame.current === null) return undefined;
    const observer = new ResizeObserver(() => onResize());
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, [frame]);
  return () => {
    if (frame.current === null) return;
    const { scrollHeight, scrollTop, clientHeight } = frame.current;
    wasAtEnd.current = scrollHeight - scrollTop - clientHeight <= END_PIXELS;
  };
}
