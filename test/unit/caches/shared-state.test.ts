import { expect, it } from 'vitest'
import { sources } from '../../support/sources.ts'

/** Files with state at module level, by what the state belongs to. */
const sharedState = {
  'the process: its event loop, accounts, locks and clock': [
    'platform/http/discard.ts',
    'platform/http/log.ts',
    'platform/http/turn-end.ts',
    'platform/sandbox/account.ts',
    'platform/sandbox/job-folder.ts',
    'platform/threads/slices.ts',
  ],
  'the program: its libraries, texts, pictures and schema': [
    'analysis/dart/syntax/grammar.ts',
    'platform/db/postgres/postgres-dialect.ts',
    'platform/graphql/payload.ts',
    'platform/pictures/convert.ts',
    'registry/preview/draw.ts',
  ],
  'a thread or program of its own': [
    'analysis/dart/types/parse.ts',
    'analysis/report/work.ts',
    'analysis/sdks/unpack/worker.ts',
    'platform/launch/where.ts',
    'registry/markdown/highlight.ts',
  ],
}

it('keeps state in `State` of the services, so that servers in one process share none that changes a result', () => {
  const declared =
    /^(?:export )?(?:let (\w+)|const (\w+)(?:: (?!Readonly)[^=\n]+)? = (?:new (?:Map|Set|LRUCache)(?:<.*>)?\(\)|\[\]$|createFairLimiter\())/gm
  const stateIn = (text: string) => [...text.matchAll(declared)].map(([, first, second]) => first ?? second)
  const planted =
    'let shared = 0\nexport const known: Map<string, X> = new Map<string, X>()\nconst waiting: X[] = []\nconst names = new Set([1])'
  expect(stateIn(planted)).toEqual(['shared', 'known', 'waiting'])
  const found = sources('server/**/*.ts')
    .filter(({ text }) => stateIn(text).length > 0)
    .map(({ path }) => path.replace('server/', ''))
  expect(found.toSorted()).toEqual(Object.values(sharedState).flat().toSorted())
})
