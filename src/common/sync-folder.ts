import { open } from 'node:fs/promises';

/** Makes new names in a folder durable; not every system allows it. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
