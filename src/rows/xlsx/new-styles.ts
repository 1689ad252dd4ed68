/** Style of header cells in new workbooks. */
export const HEADER_STYLE = 1;
/** Numbers with one to ten decimals have this style and the following ones. */
const FIRST_DECIMALS_STYLE = 2;
const MOST_DECIMALS = 10;
/** Whole numbers that would be shown as `4.9E+11` without a format. */
export const LONG_STYLE: number = FIRST_DECIMALS_STYLE + MOST_DECIMALS;
/** The format `0`, which needs no definition. */
const LONG_FORMAT = 1;
const FIRST_FORMAT = 164;

/** The style of a number with this many decimals; undefined for too many. */
export function styleOfDecimals(decimals: number): number | undefined {
  return decimals > MOST_DECIMALS ? undefined : FIRST_DECIMALS_STYLE + decimals - 1;
}

/** The part with the styles of a new workbook. */
export function stylesXml(namespace: string): string {
  const decimals = Array.from({ length: MOST_DECIMALS }, (_, at) => at + 1);
  const formats = decimals.map(
    (count) => `<numFmt numFmtId="${FIRST_FORMAT + count}" formatCode="0.${'0'.repeat(count)}"/>`,
  );
  const numberXml = (format: number): string =>
    `<xf numFmtId="${format}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`;
  const cells = [
    '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>',
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>',
    ...decimals.map((count) => numberXml(FIRST_FORMAT + count)),
    numberXml(LONG_FORMAT),
  ];
  return (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n' +
    `<styleSheet xmlns="${namespace}"><numFmts count="${formats.length}">${formats.join('')}</numFmts>` +
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/><family val="2"/></font><font><b/><sz val="11"/><name val="Calibri"/><family val="2"/></font></fonts>' +
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>' +
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>' +
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
    `<cellXfs count="${cells.length}">${cells.join('')}</cellXfs>` +
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
  );
}
