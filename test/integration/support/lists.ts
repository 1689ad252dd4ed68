import { type Folder, openFolder } from './folder.ts';

/** A list of two rows. */
export const LIST = 'name,domain\nAcme,acme.com\nBolt,bolt.com\n';

/** Makes a folder with a list in it, `list.csv`. */
export function openList(content = LIST): Folder {
  const folder = openFolder();
  folder.write('list.csv', content);
  return folder;
}
