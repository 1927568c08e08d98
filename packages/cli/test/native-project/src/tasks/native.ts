import { hash, verify } from "@node-rs/argon2";
import { task } from "@keelson/sdk";
import { ask } from "keelson-test-engine";
import sharp from "sharp";

/** The size of a picture that is made, encoded, and read again. */
export const picture = task({
  id: "picture",
  run: async () => {
    const background = { r: 200, g: 0, b: 0 };
    const png = await sharp({ create: { width: 8, height: 4, channels: 3, background } })
      .png()
      .toBuffer();
    const { width, height, format } = await sharp(png).metadata();
    return { width, height, format };
  },
});

export const password = task({
  id: "password",
  run: async () => {
    const hashed = await hash("correct horse");
    return { right: await verify(hashed, "correct horse"), wrong: await verify(hashed, "wrong") };
  },
});

export const engine = task({ id: "engine", run: () => ask("ready?") });
