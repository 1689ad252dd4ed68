/** The namespace of SVG. */
export const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';

/**
 * Elements that draw, or say how. `script`, `foreignObject`, and elements that play or load
 * anything are not among them. Neither are animations, which can give any attribute any value later
 * on.
 */
export const SAFE_ELEMENTS: ReadonlySet<string> = new Set(
  `svg g defs symbol use title desc metadata switch view a style image
  path rect circle ellipse line polyline polygon text tspan textPath tref
  linearGradient radialGradient stop pattern clipPath mask marker
  filter feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting
  feDisplacementMap feDistantLight feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur
  feImage feMerge feMergeNode feMorphology feOffset fePointLight feSpecularLighting feSpotLight feTile
  feTurbulence`.split(/\s+/),
);

/** Attributes that are names or numbers for SVG, even with brackets in them. */
export function isPlainAttribute(name: string): boolean {
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
export const XLINK_NAMESPACE = 'http://www.w3.org/1999/xlink';

/** Attributes of other namespaces that SVG has, and that have no effect. */
export const SAFE_ATTRIBUTES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['http://www.w3.org/XML/1998/namespace', new Set(['space', 'lang', 'id'])],
  [XLINK_NAMESPACE, new Set(['type', 'role', 'arcrole', 'title', 'show', 'actuate'])],
]);

/** Whether a namespace is for notes of drawing programs and licences, which are not drawn. */
export function isNotes(namespace: string): boolean {
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
