import { expect, it } from 'vitest';
import { cleanCell } from '../../../src/rows/xlsx/sheet-reader.ts';

it('a cell loses its comments, but nothing of a text that looks like one', () => {
  const xml = '<c r="A1"><!-- <![CDATA[ --><is><t><![CDATA[a<!--b-->&c]]></t></is><!--]]>--></c>';
  expect(cleanCell(xml, { ref: 'A1', hadRef: true })).toBe(
    '<c r="A1"><is><t>a&lt;!--b--&gt;&amp;c</t></is></c>',
  );
});
