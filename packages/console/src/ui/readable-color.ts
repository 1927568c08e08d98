type Rgb = readonly [number, number, number];

/** Relative luminances of WCAG that text needs for 4.5 : 1 on the raised ground, light and dark. */
const MAX_ON_LIGHT = 0.15;
const MIN_ON_DARK = 0.26;

const toLinear = (value: number): number => {
  const part = value / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
};
const fromLinear = (value: number): number =>
  Math.round(255 * (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055));

export const luminance = ([r, g, b]: Rgb): number =>
  0.2126 * toLinear(r) + 0.7152 * toLinear(g) + 0.0722 * toLinear(b);

const mapLinear = (rgb: Rgb, change: (part: number) => number): Rgb => {
  const [r, g, b] = rgb.map((value) => fromLinear(Math.min(1, change(toLinear(value)))));
  return [r ?? 0, g ?? 0, b ?? 0];
};

/** The colour as dark, or as light, as text in it must be to be read on the console's grounds. */
export function readableColors(rgb: Rgb): { onLight: Rgb; onDark: Rgb } {
  const is = luminance(rgb);
  const factor = Math.min(1, MAX_ON_LIGHT / is);
  const share = Math.max(0, (MIN_ON_DARK - is) / (1 - is));
  return {
    onLight: mapLinear(rgb, (part) => part * factor),
    onDark: mapLinear(rgb, (part) => part + share * (1 - part)),
  };
}

export const toCssColor = ([r, g, b]: Rgb): string => `rgb(${r} ${g} ${b})`;

/** Black or white, whichever is read better on the colour. */
export const textOn = (rgb: Rgb): Rgb => (luminance(rgb) > 0.18 ? [0, 0, 0] : [255, 255, 255]);
