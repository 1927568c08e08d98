import { useEffect, useRef, useState, type ReactNode } from "react";
import type { ImageType } from "./file-kind.ts";

/** Larger ones are shown as bytes, and downloaded to be seen. */
export const MAX_IMAGE_BYTES = 10 * 1024 * 1024;

/** A picture, of the type that its bytes say: a browser takes it for nothing else. */
export function ImageOfBytes({
  bytes,
  type,
  alt,
}: {
  bytes: Uint8Array;
  type: ImageType;
  alt: string;
}): ReactNode {
  const image = useRef<HTMLImageElement>(null);
  const [isBroken, setIsBroken] = useState(false);
  useEffect(() => {
    const url = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>], { type }));
    if (image.current !== null) image.current.src = url;
    return () => URL.revokeObjectURL(url);
  }, [bytes, type]);
  if (isBroken) return <p className="text-quiet">The browser cannot show this picture.</p>;
  return <img ref={image} alt={alt} className="max-w-full" onError={() => setIsBroken(true)} />;
}
