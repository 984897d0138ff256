import { dayOf, lastDayBeforeWindow, recount } from './registry/downloads/service.ts'
import { recountLikes } from './registry/likes/service.ts'
import { deleteConfusableName, recordFreedName, reserveName } from './registry/names/service.ts'
import type { AfterPackageChange } from './registry/packages/after-change.ts'
import { versionsComparedWith } from './analysis/scoring/api-changes/verdict.ts'
import { requestAnalysesOf, requestAnalysesOfVersions, requestFirstAnalysis } from './analysis/scoring/requests.ts'
import { keepPackage, keepVersion } from './registry/restoration/keep.ts'
import { refreshIndex, refreshWithDependents } from './registry/search/refresh-index.ts'

/** Keeps deleted packages and versions, so that they can be restored. */
const keepDeleted: AfterPackageChange = async (em, change, changer) => {
  if (change.kind === 'deleted') await keepPackage(em, changer, change)
  if (change.kind === 'versionDeleted') await keepVersion(em, changer, change)
}

/** Reserves or frees the name of a deleted package. */
const updateNames: AfterPackageChange = async (em, change, changer) => {
  if (change.kind !== 'deleted') return
  await deleteConfusableName(em, change.name)
  await (change.freesName ? recordFreedName(em, changer, change.name) : reserveName(em, changer, change.name))
}

/** Updates the search index, except after a publish, which indexes the version itself from the texts in memory. */
const updateSearch: AfterPackageChange = async (em, change, { config }) => {
  if (change.kind === 'changed') await refreshIndex(em, config, change.packageId)
  if (change.kind === 'visibility')
    await refreshWithDependents(
      em,
      config,
      change.packages.map(({ name }) => name),
    )
  if (change.kind === 'restored') {
    await refreshIndex(em, config, change.packageId)
    await recount(em, [change.packageId], lastDayBeforeWindow(dayOf(change.at)))
    await recountLikes(em, [change.packageId])
  }
  // For the dependents of a public package, its deletion has the same effect as making it private.
  if (change.kind === 'deleted' && change.wasPublic) await refreshWithDependents(em, config, [change.name])
}

/** Queues analyses of new versions, of packages whose readers changed, and of versions whose API was compared with a deleted version. */
const updateAnalyses: AfterPackageChange = async (em, change, { config, viewer, now }) => {
  if (change.kind === 'published') await requestFirstAnalysis(em, change.versionId, { config, viewer, at: change.at })
  if (change.kind === 'restored') await requestAnalysesOfVersions(em, change.versionIds, { config, viewer, at: change.at })
  if (change.kind === 'versionDeleted')
    await requestAnalysesOfVersions(em, await versionsComparedWith(em, change.versionId), { config, viewer, at: now() })
  if (change.kind === 'visibility') {
    const ids = change.packages.map(({ id }) => id)
    await requestAnalysesOf(em, ids, { config, viewer, at: now() })
  }
}

const updates: readonly AfterPackageChange[] = [keepDeleted, updateNames, updateSearch, updateAnalyses]

/** Runs all updates that follow a change to a package, in the same transaction. */
export const afterPackageChange: AfterPackageChange = async (em, change, changer) => {
  for (const update of updates) await update(em, change, changer)
}
