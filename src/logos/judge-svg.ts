import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes';

/**
 * The verdict on bytes as an SVG: a picture and nothing else, one that may do more, or no SVG at
 * all.
 */
export type SvgVerdict = 'safe' | 'unsafe' | 'no_svg';

/**
 * Checks whether bytes are an SVG that can do nothing but show. An XML parser reads it to its end,
 * and everything in it has to be known as harmless: elements, attributes, CSS. So it has no
 * scripts, event handlers, pages within the picture or entities, and it loads nothing from
 * elsewhere. This holds even if a page takes the picture into its own HTML. Any other picture is
 * refused as a whole. Cleaning would mean rewriting it, and rewritten text may be parsed in another
 * way.
 */
export function judgeSvg(bytes: Buffer): SvgVerdict {
  const text = decode(bytes);
  if (text === undefined || !text.trimStart().startsWith('<')) return 'no_svg';
  let isSvg = false;
  try {
    read(text, () => {
      isSvg = true;
    });
  } catch {
    return isSvg ? 'unsafe' : 'no_svg';
  }
  return isSvg ? 'safe' : 'no_svg';
}

/** Deeper pictures are made to do harm. */
const MOST_DEPTH = 200;

/** Reads all of it. @throws Error at the first part that is not known as harmless */
function read(text: string, onSvg: () => void): void {
  const parser = new SaxesParser({ xmlns: true, position: false });
  const open: SaxesTagNS[] = [];
  let css = '';

  function readText(part: string): void {
    if (isStyle(open.at(-1))) css += part;
  }

  parser.on('error', (error) => {
    throw error;
  });
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && !ENCODINGS.test(encoding)) refuse(`encoding ${encoding}`);
  });
  parser.on('doctype', (doctype) => {
    if (!HARMLESS_DOCTYPE.test(doctype)) refuse('a document type of its own');
  });
  parser.on('processinginstruction', ({ target, body }) => {
    if (target !== 'xpacket' || body.includes('>')) refuse(`the instruction ${target}`);
  });
  parser.on('comment', (comment) => {
    // In HTML such a comment ends at once, and the rest of it is part of the page.
    const isOver = /^-?>|--!>/.test(comment);
    if (isOver || isLabel(open.at(-1))) refuse('a comment that HTML reads in another way');
  });
  parser.on('opentag', (tag) => {
    if (open.length === 0) {
      if (tag.uri !== SVG_NAMESPACE || tag.local !== 'svg') refuse('another root');
      onSvg();
    }
    const isWithinText = isStyle(open.at(-1)) || isLabel(open.at(-1));
    if (open.length >= MOST_DEPTH || isWithinText) refuse('elements where none belong');
    checkElement(tag);
    open.push(tag);
    css = '';
  });
  parser.on('text', readText);
  parser.on('cdata', (part) => {
    if (isLabel(open.at(-1))) refuse('text that HTML reads in another way');
    readText(part);
  });
  parser.on('closetag', (tag) => {
    open.pop();
    if (isStyle(tag) && !isSafeCss(css)) refuse('CSS');
  });
  parser.write(text).close();
}

function isStyle(tag: SaxesTagNS | undefined): boolean {
  return tag?.local === 'style';
}

/** In HTML, the content of these elements is parsed as HTML again. */
function isLabel(tag: SaxesTagNS | undefined): boolean {
  return tag?.local === 'title' || tag?.local === 'desc';
}

function checkElement({ name, local, prefix, uri, attributes }: SaxesTagNS): void {
  // Without a prefix, an HTML page would take notes with the names of its own elements for those
  // elements.
  const isNote = prefix !== '' && isNotes(uri);
  const isKnown = uri === SVG_NAMESPACE && SAFE_ELEMENTS.has(local);
  if (!isNote && !isKnown) refuse(`the element ${name}`);
  for (const attribute of Object.values(attributes)) {
    if (!isSafeAttribute(local, attribute)) refuse(`the attribute ${attribute.name}`);
  }
}

function isSafeAttribute(element: string, { local, uri, value }: SaxesAttributeNS): boolean {
  if (uri === XMLNS) return true;
  if (/^on/i.test(local) || /^\s*(?:java|vb|live)script\s*:/i.test(value)) return false;
  if (isNotes(uri)) return true;
  if (local === 'href')
    return isSafeLink(element, value) && (uri === '' || uri === XLINK_NAMESPACE);
  if (uri !== '') return SAFE_ATTRIBUTES.get(uri)?.has(local) ?? false;
  if (local === 'style') return isSafeCss(value);
  return isPlainAttribute(local) || isSafeCssValue(value);
}

/** Whether a link stays within the picture, or leads to an embedded picture. */
function isSafeLink(element: string, target: string): boolean {
  const isPicture = element === 'image' || element === 'feImage';
  return /^\s*(?:#|$)/.test(target) || (isPicture && isEmbeddedPicture(target.trim()));
}

const XMLNS = 'http://www.w3.org/2000/xmlns/';

/** The doctype of the W3C, without definitions of its own. */
const HARMLESS_DOCTYPE =
  /^\s*svg(?:\s+PUBLIC\s+"-\/\/W3C\/\/DTD SVG [\w. ]{1,40}\/\/EN"\s+"https?:\/\/www\.w3\.org\/[\w./-]{1,80}")?\s*$/;

/** Encodings in which ASCII is ASCII: in some others a browser finds what no other program does. */
const ENCODINGS = /^(?:utf-8|us-ascii|ascii|iso-8859-1|windows-1252)$/i;

/** Decodes as UTF-8, else byte by byte, which is good enough to find text in ASCII. */
function decode(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined; // UTF-16, or no text
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return bytes.toString('latin1');
  }
}

function refuse(what: string): never {
  throw new Error(`there is ${what} in it`);
}

/**
 * Whether CSS from a picture refers only to the picture itself. It is not parsed. Anything
 * uncertain is unsafe, so escapes, most at-rules and unknown functions are refused.
 */
function isSafeCss(css: string): boolean {
  if (/[\\<]/.test(css)) return false;
  for (const [, rule = ''] of css.matchAll(/@([\w-]*)/g)) {
    if (!SAFE_RULES.has(rule.toLowerCase())) return false;
  }
  return hasSafeFunctions(css);
}

/** Whether the value of an attribute that may be CSS, such as `fill`, refers to nothing else. */
function isSafeCssValue(value: string): boolean {
  return !value.includes('(') || (!value.includes('\\') && hasSafeFunctions(value));
}

/**
 * Whether a URL is an embedded picture. SVG does not count, since it would have to be checked
 * itself.
 */
function isEmbeddedPicture(url: string): boolean {
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

/** The namespace of SVG. */
const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';

/**
 * Elements that draw, or say how. `script`, `foreignObject`, and elements that play or load
 * anything are not among them. Neither are animations, which can give any attribute any value later
 * on.
 */
const SAFE_ELEMENTS: ReadonlySet<string> = new Set(
  `svg g defs symbol use title desc metadata switch view a style image
  path rect circle ellipse line polyline polygon text tspan textPath tref
  linearGradient radialGradient stop pattern clipPath mask marker
  filter feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting
  feDisplacementMap feDistantLight feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur
  feImage feMerge feMergeNode feMorphology feOffset fePointLight feSpecularLighting feSpotLight feTile
  feTurbulence`.split(/\s+/),
);

/** Attributes that are names or numbers for SVG, even with brackets in them. */
function isPlainAttribute(name: string): boolean {
  return PLAIN_ATTRIBUTES.has(name) || name.startsWith('data-') || name.startsWith('aria-');
}

const PLAIN_ATTRIBUTES: ReadonlySet<string> = new Set([
  'id',
  'class',
  'd',
  'points',
  'font-family',
]);

/** The namespace of `xlink:href`. */
const XLINK_NAMESPACE = 'http://www.w3.org/1999/xlink';

/** Attributes of other namespaces that SVG has, and that have no effect. */
const SAFE_ATTRIBUTES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['http://www.w3.org/XML/1998/namespace', new Set(['space', 'lang', 'id'])],
  [XLINK_NAMESPACE, new Set(['type', 'role', 'arcrole', 'title', 'show', 'actuate'])],
]);

/** Whether a namespace is for notes of drawing programs and licences, which are not drawn. */
function isNotes(namespace: string): boolean {
  return NOTES.has(namespace) || namespace.startsWith('http://ns.adobe.com/');
}

const NOTES: ReadonlySet<string> = new Set([
  'http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd',
  'http://www.inkscape.org/namespaces/inkscape',
  'http://www.w3.org/1999/02/22-rdf-syntax-ns#',
  'http://creativecommons.org/ns#',
  'http://web.resource.org/cc/',
  'http://purl.org/dc/elements/1.1/',
  'http://purl.org/dc/terms/',
  'adobe:ns:meta/',
  'http://www.bohemiancoding.com/sketch/ns',
  'http://www.figma.com/figma/ns',
  'http://www.serif.com/',
  'http://svgjs.com/svgjs',
  'http://svgjs.dev/svgjs',
  'http://www.openswatchbook.org/uri/2009/osb',
  'http://vectornator.io',
  'https://boxy-svg.com',
]);
