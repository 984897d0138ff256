import { isAbsolute, relative } from 'node:path'

type Folders = Record<'DATA_DIR' | 'BLOB_PATH' | 'DOCS_PATH', string>

/**
 * The setting of the folder of data that a path is in: what is in there is the server's, and may be collected. Of DATA_DIR only itself, and what is
 * above: a folder of its own below it is apart from the data. Null when the path is in none.
 */
export function dataFolderAround({ DATA_DIR, BLOB_PATH, DOCS_PATH }: Folders, path: string): string | null {
  const found = Object.entries({ BLOB_PATH, DOCS_PATH }).find(([, folder]) => isIn(folder, path))
  return found?.[0] ?? (isIn(path, DATA_DIR) ? 'DATA_DIR' : null)
}

function isIn(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way === '' || !(/^\.\.(\/|$)/.test(way) || isAbsolute(way))
}
