import type { ApiChanges } from '../dart/changes.ts'
import { compareSurfaces } from '../dart/compare/compare.ts'
import { judgeVersion } from '../dart/judge-version.ts'
import { readSurface } from '../dart/stored-surface.ts'
import { type Surface, surfaceSchema } from '../dart/surface.ts'
import { code, counted, firstOf } from './judge.ts'
import type { AnalysisTask } from './task.ts'

/**
 * Describes in Markdown how the public API changed since an earlier version, and whether the version number follows semantic versioning. Returns null
 * if the API did not change.
 */
export async function apiChangeNote(earlier: AnalysisTask['earlier'], version: string, surface: Surface): Promise<string | null> {
  const before = earlier && (await readSurface(earlier.surface, surfaceSchema))
  if (!earlier || !before) return null
  const changes = compareSurfaces(before, surface)
  const { added, removed, changed } = changes
  const amounts = [
    ...(added.length > 0 ? [counted(added.length, 'addition')] : []),
    ...(removed.length > 0 ? [counted(removed.length, 'removal')] : []),
    ...(changed.length > 0 ? [counted(changed.length, 'change')] : []),
  ]
  if (amounts.length === 0) return null
  const summary = `The public API has ${amounts.join(', ')} since ${code(earlier.version)}.`
  const verdict = judgeVersion(earlier.version, version, changes)
  if (!verdict || verdict.isHonest) return summary
  const broken = brokenBy(changes)
  const named = broken.length > 0 ? ` (${firstOf(broken.map(code))})` : ''
  return `${summary} **${verdict.sentence}**${named}: semantic versioning requires a ${verdict.needed} release.`
}

const brokenBy = ({ removed, changed }: ApiChanges) =>
  [...removed, ...changed.filter(({ breaks }) => breaks.length > 0)].map(({ name }) => name)
