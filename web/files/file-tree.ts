import type { ListedFile } from './files.ts'

/** A node of the tree. Its key is its path; folders have children. */
export interface TreeNode {
  label: string
  path: string
  icon?: string
  children?: TreeNode[]
}

/** Arranges files, which are ordered by path, as a tree: in each folder, folders come first. */
export function treeOf(files: readonly ListedFile[]): TreeNode[] {
  const root: TreeNode[] = []
  const folders = new Map<string, TreeNode[]>([['', root]])
  const childrenOf = (path: string): TreeNode[] => {
    const known = folders.get(path)
    if (known) return known
    const slash = path.lastIndexOf('/')
    const children: TreeNode[] = []
    folders.set(path, children)
    childrenOf(slash < 0 ? '' : path.slice(0, slash)).push({ label: path.slice(slash + 1), path, children })
    return children
  }
  for (const { path } of files) {
    const slash = path.lastIndexOf('/')
    childrenOf(slash < 0 ? '' : path.slice(0, slash)).push({ label: path.slice(slash + 1), path, icon: 'i-lucide-file' })
  }
  for (const children of folders.values()) children.sort((a, b) => Number(!a.children) - Number(!b.children))
  return root
}

/** Returns the paths of the folders above a path: "a", "a/b" for "a/b/c". */
export function foldersAbove(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}
