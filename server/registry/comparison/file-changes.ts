import { isSliceOver, yieldToEventLoop } from '../../platform/threads/slices.ts'
import type { PackageFile } from '../files/service.ts'

type ComparedFile = Pick<PackageFile, 'path' | 'bytes' | 'kind' | 'sha256'>

export type FileStatus = 'added' | 'removed' | 'modified' | 'renamed'

/** A difference between the files of two versions. Sizes are in bytes; a renamed file has the same content under another path. */
export type FileChange = {
  path: string
  previousPath: string | null
  status: FileStatus
  kind: PackageFile['kind']
  before: number | null
  after: number | null
}

/**
 * Compares two lists of files that are ordered by path. Returns the changes ordered by path. A removed file with the content of an added one counts
 * as renamed. Yields to other requests, because archives can have tens of thousands of files.
 */
export async function compareFiles(earlier: readonly ComparedFile[], later: readonly ComparedFile[]): Promise<FileChange[]> {
  const pairs: (readonly [ComparedFile | null, ComparedFile | null])[] = []
  for (let [at, to] = [0, 0]; at < earlier.length || to < later.length;) {
    const [before, after] = pairAt(earlier[at], later[to])
    if (before?.sha256 !== after?.sha256) pairs.push([before, after])
    if (before) at++
    if (after) to++
    if (isSliceOver()) await yieldToEventLoop()
  }
  const sources = Map.groupBy(
    pairs.flatMap(([before, after]) => (before && !after && before.bytes > 0 ? [before] : [])),
    ({ sha256 }) => sha256,
  )
  const renamed = new Set<ComparedFile>()
  const changes: FileChange[] = []
  for (const [before, after] of pairs) {
    const source = after && !before ? sources.get(after.sha256)?.shift() : undefined
    if (source) renamed.add(source)
    changes.push(changeOf(source ?? before, after))
    if (isSliceOver()) await yieldToEventLoop()
  }
  return changes.filter((_, index) => {
    const before = pairs[index]?.[0]
    return !before || !renamed.has(before)
  })
}

/** Returns the file whose path sorts first, with null for the other, or both files if their paths are equal. */
function pairAt(before: ComparedFile | undefined, after: ComparedFile | undefined): readonly [ComparedFile | null, ComparedFile | null] {
  if (!before || !after) return [before ?? null, after ?? null]
  if (before.path === after.path) return [before, after]
  return before.path < after.path ? [before, null] : [null, after]
}

function changeOf(before: ComparedFile | null, after: ComparedFile | null): FileChange {
  const isRenamed = before && after && before.path !== after.path
  return {
    path: (after ?? before)?.path ?? '',
    previousPath: isRenamed ? before.path : null,
    status: !before ? 'added' : !after ? 'removed' : isRenamed ? 'renamed' : 'modified',
    kind: (after ?? before)?.kind ?? 'binary',
    before: before?.bytes ?? null,
    after: after?.bytes ?? null,
  }
}
