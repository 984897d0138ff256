import { type ApiChanges, judgeVersion } from '../../dart/changes.ts'
import { compareSurfaces } from '../../dart/compare/compare.ts'
import { readComplete } from '../../dart/surface.ts'
import { answerQuestions } from '../../../platform/threads/worker.ts'

type Side = { version: string; surface: Uint8Array }

export type Task = { earlier: Side; later: Side }

const maxListed = 500

answerQuestions(({ earlier, later }: Task) => {
  const [before, after] = [readComplete(earlier.surface), readComplete(later.surface)]
  if (!before || !after) return null
  const changes = compareSurfaces(before, after)
  const { isHonest = null, sentence = null } = judgeVersion(earlier.version, later.version, changes) ?? {}
  return { isHonest, sentence, ...counted(changes) }
})

const counted = ({ added, removed, changed }: ApiChanges) => ({
  counts: { added: added.length, removed: removed.length, changed: changed.length },
  changes: { added: added.slice(0, maxListed), removed: removed.slice(0, maxListed), changed: changed.slice(0, maxListed) },
})
