import { open } from 'node:fs/promises';

/** Makes new names in a folder durable, where the system supports it. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
