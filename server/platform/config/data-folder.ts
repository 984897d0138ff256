import { isAbsolute, relative } from 'node:path'

type Folders = Record<'BLOB_PATH' | 'DOCS_PATH', string>

/** Returns the setting whose data folder contains a path, or null. The server owns these folders and may delete unknown files in them. */
export function dataFolderAround({ BLOB_PATH, DOCS_PATH }: Folders, path: string): string | null {
  const found = Object.entries({ BLOB_PATH, DOCS_PATH }).find(([, folder]) => isIn(folder, path))
  return found?.[0] ?? null
}

/** Whether a path is the folder itself or below it. */
export function isIn(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way === '' || !(/^\.\.(\/|$)/.test(way) || isAbsolute(way))
}
