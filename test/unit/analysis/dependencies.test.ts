import { expect, it } from 'vitest'
import type { DependencyFacts } from '../../../server/analysis/report/task.ts'
import { criterionFor, reportFor, soundPubspec } from '../../support/analysis.ts'

const longAgo = '2025-01-01T00:00:00.000Z'

const known = (versions: string[], more: Partial<DependencyFacts> = {}): DependencyFacts => ({
  versions: versions.map((version) => ({ version, publishedAt: longAgo })),
  isDiscontinued: false,
  replacedBy: null,
  ...more,
})

/** Returns the criterion of a package that depends on `tide` with this constraint. */
const dependingOn = (constraint: string, tide: DependencyFacts | null) =>
  criterionFor('dependencies', { manifest: soundPubspec(`dependencies: {tide: '${constraint}'}`) }, { dependencies: { tide } })

it.each([
  ['^1.0.0', ['1.0.0', '1.4.0'], 10, 'The latest versions here of `tide` are supported.'],
  ['^1.0.0', ['1.0.0', '2.0.0-dev'], 10, 'supported'],
  ['^1.0.0', ['1.0.0', '2.0.0', '3.1.0'], 0, '`tide` (`^1.0.0`) does not allow `3.1.0`: it is 2 major versions behind.'],
  ['>=1.0.0 <1.2.0', ['1.1.0', '1.2.0', '1.3.0'], 0, 'does not allow `1.3.0`: it is 2 releases behind.'],
  ['^2.0.0', ['1.1.0'], 0, 'cannot be resolved'],
  ['^2.0.0', [], 10, 'supported'],
])('scores %s with published versions %j: %d points', async (constraint, versions, granted, reason) => {
  expect(await dependingOn(constraint, known(versions))).toMatchObject({ granted, reason: expect.stringContaining(reason) })
})

it('tolerates unsupported releases for thirty days', async () => {
  const tide = known(['1.0.0', '2.0.0'])
  const recent = {
    ...tide,
    versions: tide.versions.map((each) => (each.version === '2.0.0' ? { ...each, publishedAt: '2025-12-20T00:00:00.000Z' } : each)),
  }
  expect(await dependingOn('^1.0.0', recent)).toMatchObject({ granted: 10 })
  expect(await dependingOn('^1.0.0', tide)).toMatchObject({ granted: 0 })
})

it('reports a discontinued dependency and its replacement', async () => {
  const tide = known(['1.0.0'], { isDiscontinued: true, replacedBy: 'current' })
  expect(await dependingOn('^1.0.0', tide)).toMatchObject({
    granted: 0,
    reason: '`tide` is discontinued.',
    remedy: expect.stringContaining('`current`'),
  })
})

it('checks only the constraints on dependencies that this registry does not have', async () => {
  expect(await dependingOn('^1.0.0', null)).toMatchObject({ granted: 10 })
  expect(await dependingOn('any', null)).toMatchObject({ granted: 0 })
  const manifest = soundPubspec('dependencies: {tide: ^1.0.0, http: ^1.0.0}')
  const { sections } = await reportFor({ manifest }, { dependencies: { tide: known(['1.0.0']) } })
  const { reason } = sections.flatMap(({ criteria }) => criteria).find(({ id }) => id === 'dependencies') ?? {}
  expect(reason).toContain('Not in this registry, so only their constraints were checked: `http`')
})

it.each([
  ['any', 0, 'has no lower bound'],
  ['<2.0.0', 0, 'has no lower bound'],
  ['>=2.0.0 <1.0.0', 0, 'allows no version'],
  ['>=1.0.0', 10, 'have a lower bound'],
])('scores the lower bound of %s: %d points', async (constraint, granted, reason) => {
  expect(await dependingOn(constraint, known(['1.0.0', '1.4.2']))).toMatchObject({
    granted,
    reason: expect.stringContaining(reason),
  })
})
