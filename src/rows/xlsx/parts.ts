import { brokenWorkbook, normalizePath, type Package } from './package.ts';
import { attributeOf, decodeWhole, readXml } from './xml.ts';

/** A sheet of a workbook. */
export interface SheetPart {
  readonly name: string;
  /** The path of its rows in the package. */
  readonly path: string;
  readonly isHidden: boolean;
  /** How the workbook refers to it. */
  readonly relationId: string;
  /** The full type of that reference: strict workbooks have different ones. */
  readonly relationType: string;
}

/** The places of things in a package. */
export interface WorkbookParts {
  readonly path: string;
  readonly relationsPath: string;
  /** Sheets with rows, in the order of their tabs. */
  readonly sheets: readonly SheetPart[];
  /** Names of all tabs, including those of charts. */
  readonly names: readonly string[];
  readonly is1904: boolean;
  readonly stylesPath: string | undefined;
  readonly themePath: string | undefined;
  readonly stringsPath: string | undefined;
}

/** A reference from one part to another. */
export interface Relation {
  readonly id: string;
  /** The last word of its type, such as `worksheet`. */
  readonly kind: string;
  readonly type: string;
  /** A path in the package, as it has it if there is such a part; anything for an external one. */
  readonly target: string;
  readonly isExternal: boolean;
}

/** @throws BrandfillError `UNREADABLE_INPUT` when it is no workbook, or parts of it are missing */
export async function readWorkbookParts(pack: Package): Promise<WorkbookParts> {
  const roots = await readRelations(pack, '');
  const root = roots.find(({ kind }) => kind === 'officeDocument')?.target;
  const path = root === undefined ? undefined : pack.find(root);
  if (path === undefined) throw brokenWorkbook(pack.name, 'there is no workbook in it');
  const relations = await readRelations(pack, path);
  const pathOf = (wanted: string): string | undefined =>
    relations.find(({ kind, target }) => kind === wanted && pack.find(target) !== undefined)
      ?.target;
  const byId = new Map(relations.map((relation) => [relation.id, relation]));
  const sheets: SheetPart[] = [];
  const names: string[] = [];
  let is1904 = false;
  readXml(decodeWhole(await pack.readWhole(path)), {
    open: (tag) => {
      // Extensions also have elements of this name.
      if (tag.local === 'workbookPr') is1904 ||= isTrue(attributeOf(tag, 'date1904'));
      if (tag.local !== 'sheet') return;
      names.push(attributeOf(tag, 'name') ?? '');
      const id = relationIdOf(tag.attributes);
      const relation = id === undefined ? undefined : byId.get(id);
      if (relation?.kind !== 'worksheet') return; // a chart has no rows
      sheets.push({
        name: attributeOf(tag, 'name') ?? '',
        path: relation.target,
        isHidden: (attributeOf(tag, 'state') ?? 'visible') !== 'visible',
        relationId: relation.id,
        relationType: relation.type,
      });
    },
  });
  const relationsPath = pack.find(relationsPathOf(path)) ?? relationsPathOf(path);
  return {
    path,
    relationsPath,
    sheets,
    names,
    is1904,
    stylesPath: pathOf('styles'),
    themePath: pathOf('theme'),
    stringsPath: pathOf('sharedStrings'),
  };
}

/** `id` in a namespace, whatever its prefix: `r:id`. */
function relationIdOf(attributes: Readonly<Record<string, string>>): string | undefined {
  const name = Object.keys(attributes).find((name) => name.endsWith(':id'));
  return name === undefined ? undefined : attributes[name];
}

function isTrue(text: string | undefined): boolean {
  return text === '1' || text === 'true';
}

/** The references of a part; empty for most parts. */
export async function readRelations(pack: Package, path: string): Promise<readonly Relation[]> {
  const relationsPath = pack.find(relationsPathOf(path));
  if (relationsPath === undefined) return [];
  const found: Relation[] = [];
  readXml(decodeWhole(await pack.readWhole(relationsPath)), {
    open: (tag) => {
      if (tag.local !== 'Relationship') return;
      const type = attributeOf(tag, 'Type') ?? '';
      const target = attributeOf(tag, 'Target') ?? '';
      const isExternal = attributeOf(tag, 'TargetMode') === 'External';
      found.push({
        id: attributeOf(tag, 'Id') ?? '',
        kind: type.slice(type.lastIndexOf('/') + 1),
        type,
        target: isExternal ? target : findTarget(pack, path, target),
        isExternal,
      });
    },
  });
  return found;
}

/** `xl/workbook.xml` has its references in `xl/_rels/workbook.xml.rels`. */
export function relationsPathOf(path: string): string {
  const cut = path.lastIndexOf('/') + 1;
  return `${path.slice(0, cut)}_rels/${path.slice(cut)}.rels`;
}

function findTarget(pack: Package, from: string, target: string): string {
  const folder = /^[\\/]/.test(target) ? '' : from.slice(0, from.lastIndexOf('/') + 1);
  const path = normalizePath(folder + target);
  return pack.find(path) ?? path;
}
