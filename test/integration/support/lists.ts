import { type Folder, openFolder } from './folder.ts';
import { domains, listOf } from './tables.ts';

/** A list of two rows. */
export const LIST = 'name,domain\nAcme,acme.com\nBolt,bolt.com\n';

/**
 * Makes a folder with a list in it, `list.csv`.
 *
 * @param content what is in it, or how many domains are
 */
export function openList(content: string | Buffer | number = LIST): Folder {
  const folder = openFolder();
  folder.write('list.csv', typeof content === 'number' ? listOf(domains(content)) : content);
  return folder;
}
