import { isAbsolute, relative } from 'node:path'

type Folders = Record<'BLOB_PATH' | 'DOCS_PATH', string>

/** The setting of the folder of data that a path is in: what is in there is the server's, and may be collected. Null when it is in none. */
export function dataFolderAround({ BLOB_PATH, DOCS_PATH }: Folders, path: string): string | null {
  const found = Object.entries({ BLOB_PATH, DOCS_PATH }).find(([, folder]) => isIn(folder, path))
  return found?.[0] ?? null
}

/** Whether a path is a folder, or below it. */
export function isIn(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way === '' || !(/^\.\.(\/|$)/.test(way) || isAbsolute(way))
}
