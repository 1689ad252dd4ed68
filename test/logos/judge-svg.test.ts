import { describe, expect, it } from 'vitest';
import { judgeSvg } from '../../src/logos/judge-svg.ts';
import { PLAIN_SVG, svg } from './svgs.ts';

const judge = (text: string): string => judgeSvg(Buffer.from(text));
const RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"';
const PNG_URL = 'data:image/png;base64,iVBORw0KGgo=';

describe('an SVG that only shows is safe:', () => {
  it.each([
    ['plain', PLAIN_SVG],
    ['with a declaration', `<?xml version="1.0" encoding="UTF-8"?>\n${PLAIN_SVG}`],
    ['with a byte order mark', `\uFEFF${PLAIN_SVG}`],
    [
      'with the doctype of the W3C',
      `<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">${PLAIN_SVG}`,
    ],
    ['with comments', `<!-- Generator: Some Illustrator (24.0) -->${svg('<!-- a --><g/>')}`],
    ['with style', svg('<style type="text/css"><![CDATA[ .a{fill:url(#b)} ]]></style>')],
    [
      'with media queries',
      svg('<style>@media (prefers-color-scheme:dark){path:not(.x){fill:rgb(1,2,3)}}</style>'),
    ],
    ['with references within', svg('<defs><g id="a"/></defs><use xlink:href="#a" href="#a"/>')],
    ['with gradients', svg('<path fill="url(#g)" transform="translate(1 2) scale(2)" d="M0 0"/>')],
    ['with an embedded picture', svg(`<image xlink:href="${PNG_URL}" width="1"/>`)],
    ['with a filter', svg('<filter id="f"><feGaussianBlur stdDeviation="1"/></filter>')],
    ['with brackets in names', svg('<g id="Layer (1)" class="x(y)" data-name="a (b)"/>')],
    [
      'with the notes of a drawing program',
      `<svg xmlns="http://www.w3.org/2000/svg" ${RDF} xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape"><metadata><rdf:RDF><rdf:li rdf:resource="http://a.example/"/></rdf:RDF></metadata><g inkscape:label="a"/></svg>`,
    ],
    [
      'under another prefix',
      '<s:svg xmlns:s="http://www.w3.org/2000/svg"><s:path d="M0 0"/></s:svg>',
    ],
    ['with a title', svg('<title>A &lt; B</title><desc>About &#60;b></desc>')],
    ['with entities of XML', svg('<text>A &amp; B &#x263a;</text>')],
  ])('%s', (_, text) => {
    expect(judge(text)).toBe('safe');
  });

  it('in Latin-1', () => {
    const text = `<?xml version="1.0" encoding="ISO-8859-1"?>${svg('<text>Müller</text>')}`;
    expect(judgeSvg(Buffer.from(text, 'latin1'))).toBe('safe');
  });
});

describe('an SVG that may do more is not safe:', () => {
  it.each([
    ['script', '<script>alert(1)</script>'],
    ['script from elsewhere', '<script href="https://evil.example/a.js"/>'],
    ['script in CDATA', '<script><![CDATA[alert(1)]]></script>'],
    [
      'script of another namespace',
      '<script xmlns="http://www.w3.org/1999/xhtml">alert(1)</script>',
    ],
    [
      'script under a prefix',
      '<h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(1)</h:script>',
    ],
    ['a handler', '<g onclick="alert(1)"/>'],
    ['a handler without a call', '<g onclick="location=name"/>'],
    ['a handler in capitals', '<g ONLOAD="alert(1)"/>'],
    ['foreignObject', '<foreignObject><p xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>'],
    ['an iframe', '<iframe xmlns="http://www.w3.org/1999/xhtml" src="https://evil.example"/>'],
    ['HTML named as notes', '<img xmlns="http://www.inkscape.org/namespaces/inkscape" src="x"/>'],
    ['an animated link', '<a><set attributeName="href" to="javascript:alert(1)"/></a>'],
    ['an animation', '<animate attributeName="xlink:href" values="javascript:alert(1)"/>'],
    ['a link to a script', '<a href="javascript:alert(1)"><text>x</text></a>'],
    ['a link with escapes', '<a href="&#106;avascript:alert(1)"/>'],
    ['a link with a tab', '<a xlink:href="java&#9;script:alert(1)"/>'],
    ['a link elsewhere', '<a xlink:href="https://evil.example/"/>'],
    ['use of another file', '<use href="https://evil.example/a.svg#x"/>'],
    ['use of a neighbour', '<use xlink:href="other.svg#x"/>'],
    ['use of data', '<use href="data:image/svg+xml;base64,PHN2Zy8+#x"/>'],
    ['a picture from elsewhere', '<image href="https://evil.example/a.png"/>'],
    ['a picture without a scheme', '<image href="//evil.example/a.png"/>'],
    ['a picture that is SVG', '<image href="data:image/svg+xml;base64,PHN2Zy8+"/>'],
    ['a file', '<image xlink:href="file:///etc/passwd"/>'],
    ['feImage from elsewhere', '<filter><feImage href="https://evil.example/a.png"/></filter>'],
    ['a base', '<g xml:base="https://evil.example/"/>'],
    ['fill from elsewhere', '<path fill="url(https://evil.example/a.svg#x)"/>'],
    ['fill with escapes', '<path fill="u\\72l(https://evil.example/a#x)"/>'],
    ['a cursor', '<path cursor="image-set(&apos;https://evil.example/a.png&apos; 1x)"/>'],
    ['style from elsewhere', '<path style="fill:url(&quot;https://evil.example/a&quot;)"/>'],
    ['style in capitals', '<path style="fill:URL(//evil.example/a)"/>'],
    ['an import', '<style>@import "https://evil.example/a.css";</style>'],
    ['an import in CDATA', '<style><![CDATA[@import url(//evil.example/a.css);]]></style>'],
    ['an import in pieces', '<style>@imp<![CDATA[ort "//evil.example"]]></style>'],
    ['an import with escapes', '<style>@\\69mport "//evil.example";</style>'],
    ['a font', '<style>@font-face{src:url(https://evil.example/a.woff)}</style>'],
    ['an expression', '<style>a{width:expression(alert(1))}</style>'],
    ['a binding', '<style>a{-moz-binding:url(//evil.example/x)}</style>'],
    ['elements in style', '<style><g/></style>'],
    ['an unknown function', '<style>a{fill:src("//evil.example")}</style>'],
    ['an instruction', '<?xml-stylesheet href="https://evil.example/a.css"?>'],
    ['an instruction for HTML', '<?xpacket ><img src=x onerror=alert(1)>?>'],
    ['a comment for HTML', '<!--><img src=x onerror=alert(1)>-->'],
    ['elements in a title', '<title><style>a{}</style></title>'],
    ['a comment in a title', '<title><!-- </title><img src=x onerror=alert(1)> --></title>'],
    ['CDATA in a title', '<desc><![CDATA[<img src=x onerror=alert(1)>]]></desc>'],
    ['HTML in CSS', '<style><![CDATA[</style><img src=x onerror=alert(1)>]]></style>'],
    ['a handler of XML events', '<ev:listener xmlns:ev="http://www.w3.org/2001/xml-events"/>'],
    ['MathML', '<math xmlns="http://www.w3.org/1998/Math/MathML" href="javascript:alert(1)"/>'],
    ['an unknown namespace', '<x:y xmlns:x="urn:x"/>'],
    ['an unknown entity', '<text>&xxe;</text>'],
    ['an element that is not closed', '<g>'],
    ['something behind it', '</svg><script xmlns="http://www.w3.org/1999/xhtml"/><svg>'],
  ])('%s', (_, content) => {
    expect(judge(svg(content))).toBe('unsafe');
  });

  it.each([
    ['a handler at the root', svg('', ' onload="alert(1)"')],
    ['a stylesheet', `<?xml-stylesheet href="//evil.example/a.css"?>${PLAIN_SVG}`],
    ['an entity', `<!DOCTYPE svg [<!ENTITY a "b">]>${svg('<text>&a;</text>')}`],
    ['an external entity', `<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>${PLAIN_SVG}`],
    ['a doctype from elsewhere', `<!DOCTYPE svg SYSTEM "https://evil.example/a.dtd">${PLAIN_SVG}`],
    ['an odd encoding', `<?xml version="1.0" encoding="ISO-2022-JP"?>${PLAIN_SVG}`],
    ['great depth', svg('<g>'.repeat(10_000) + '</g>'.repeat(10_000))],
  ])('%s', (_, text) => {
    // What stands before the root is found out before it is known what the root is.
    expect(judge(text)).not.toBe('safe');
  });

  it('is found out at once, however large it is', () => {
    const large = [
      svg('<g>'.repeat(100_000)),
      svg(`<path fill="${'('.repeat(300_000)}url(//a)"/>`),
      svg(`<path style="${'a'.repeat(300_000)}("/>`),
      svg(`<style>${'url('.repeat(70_000)}</style>`),
      svg(`<path fill="url(${' '.repeat(300_000)}"/>`),
      svg(`<g ${Array.from({ length: 20_000 }, (_, at) => `a${at}="1"`).join(' ')} onclick="1"/>`),
    ];
    for (const text of large) expect(judge(text)).toBe('unsafe');
  }, 20_000);
});

describe('no SVG at all:', () => {
  it.each([
    ['nothing', ''],
    ['text', 'not found'],
    [
      'a page',
      '<!doctype html><html><body><svg xmlns="http://www.w3.org/2000/svg"/></body></html>',
    ],
    ['XHTML', '<html xmlns="http://www.w3.org/1999/xhtml"/>'],
    ['SVG without its namespace', '<svg><rect/></svg>'],
    ['another language', '<rss version="2.0"/>'],
    ['a broken beginning', '<svg'],
  ])('%s', (_, text) => {
    expect(judge(text)).toBe('no_svg');
  });

  it('UTF-16', () => {
    expect(judgeSvg(Buffer.from(`\uFEFF${PLAIN_SVG}`, 'utf16le'))).toBe('no_svg');
  });
});
