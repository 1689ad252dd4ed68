/**
 * Whether CSS from a picture refers only to the picture itself. It is not parsed. Anything
 * uncertain is unsafe, so escapes, most at-rules and unknown functions are refused.
 */
export function isSafeCss(css: string): boolean {
  if (/[\\<]/.test(css)) return false;
  for (const [, rule = ''] of css.matchAll(/@([\w-]*)/g)) {
    if (!SAFE_RULES.has(rule.toLowerCase())) return false;
  }
  return hasSafeFunctions(css);
}

/** Whether the value of an attribute that may be CSS, such as `fill`, refers to nothing else. */
export function isSafeCssValue(value: string): boolean {
  return !value.includes('(') || (!value.includes('\\') && hasSafeFunctions(value));
}

/**
 * Whether a URL is an embedded picture. SVG does not count, since it would have to be checked
 * itself.
 */
export function isEmbeddedPicture(url: string): boolean {
  return /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp);base64,[a-z0-9+/=\s]*$/i.test(url);
}

function hasSafeFunctions(css: string): boolean {
  for (let at = css.indexOf('('); at !== -1; at = css.indexOf('(', at + 1)) {
    const [name = ''] = /[\w-]*$/.exec(css.slice(Math.max(0, at - MOST_NAME), at)) ?? [];
    if (name.toLowerCase() === 'url') {
      const end = css.indexOf(')', at);
      if (end === -1 || !isSafeTarget(css.slice(at + 1, end))) return false;
      at = end;
    } else if (name !== '' && !SAFE_FUNCTIONS.has(name.toLowerCase())) return false;
  }
  return true;
}

function isSafeTarget(argument: string): boolean {
  const text = argument.trim();
  const quote = text.charAt(0);
  const isQuoted = (quote === '"' || quote === "'") && text.length > 1 && text.endsWith(quote);
  const target = isQuoted ? text.slice(1, -1).trim() : text;
  return /^#[^"'\s]*$/.test(target) || isEmbeddedPicture(target);
}

/** Longer than any name of a safe function. */
const MOST_NAME = 40;

const SAFE_RULES: ReadonlySet<string> = new Set(['media', 'keyframes', '-webkit-keyframes']);

const SAFE_FUNCTIONS: ReadonlySet<string> = new Set(
  `translate translatex translatey translatez translate3d rotate rotatex rotatey rotatez rotate3d
  scale scalex scaley scalez scale3d skew skewx skewy matrix matrix3d perspective
  rgb rgba hsl hsla hwb lab lch oklab oklch color color-mix icc-color var calc min max clamp
  blur brightness contrast drop-shadow grayscale hue-rotate invert opacity saturate sepia
  cubic-bezier steps linear-gradient radial-gradient conic-gradient rect circle ellipse inset polygon
  media and not or is where has nth-child nth-last-child nth-of-type nth-last-of-type lang dir`.split(
    /\s+/,
  ),
);
